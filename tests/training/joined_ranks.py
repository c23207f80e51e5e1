"""What the ranks of a layout hold, joined: tensors, a checkpoint's weights, gradients by Hugging Face's names."""

import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from megatron.core import dist_checkpointing, parallel_state

from models.family import Family
from models.weight_table import find_spelling
from training.layout import Layout
from training.loop.parallel import Chunks, sharded_weights, unwrap
from training.modules import torch_dist


def whole(part: torch.Tensor, axis: int, group: torch.distributed.ProcessGroup) -> torch.Tensor:
    parts = [torch.empty_like(part) for _ in range(group.size())]
    torch.distributed.all_gather(parts, part.contiguous(), group=group)
    return torch.cat(parts, dim=axis)


@torch.no_grad()
def joined_gradients(chunks: Chunks, layout: Layout) -> dict[str, torch.Tensor]:
    """By a checkpoint's keys: gradients take the weights' places for a moment and are joined as a checkpoint is."""
    if layout.distributed_optimizer:
        gather_reduced(chunks)
    parameters = [parameter for model in unwrap(chunks) for parameter in model.parameters()]
    weights = [parameter.data for parameter in parameters]
    for parameter in parameters:
        parameter.data = parameter.main_grad.clone() if parameter.requires_grad else torch.zeros_like(parameter.data)
    everything = whole_weights(chunks)
    for parameter, own in zip(parameters, weights, strict=True):
        parameter.data = own
    return everything


def whole_gradients(
    everything: dict[str, torch.Tensor], family: Family, hf: Any, names: Collection[str]
) -> dict[str, torch.Tensor]:
    """`joined_gradients` as Hugging Face's by the table, under those of its `names`."""
    gradients = {}
    for weight in family.weight_table(hf):
        tensor = everything[weight.megatron] if weight.layer is None else everything[weight.megatron][weight.layer]
        for name, gradient in zip(weight.hf, weight.split(tensor, hf), strict=True):
            gradients[find_spelling(name, family.spellings, names)] = gradient.cpu()
    return gradients


def whole_weights(chunks: Chunks) -> dict[str, torch.Tensor]:
    """What a checkpoint would hold, on every rank."""
    folder = [tempfile.mkdtemp()] if torch.distributed.get_rank() == 0 else [""]
    torch.distributed.broadcast_object_list(folder)
    torch_dist.save({"model": sharded_weights(unwrap(chunks))}, Path(folder[0]))
    everything = {key: value.float() for key, value in dist_checkpointing.load_plain_tensors(folder[0]).items()}
    torch.distributed.barrier()
    shutil.rmtree(folder[0], ignore_errors=True)
    return everything


def gather_reduced(chunks: Chunks) -> None:
    """Each replica holds its own part of the reduced gradients; give all of them to all."""
    group = parallel_state.get_data_parallel_group(with_context_parallel=True)
    for bucket in (bucket for chunk in chunks for buffer in chunk.buffers for bucket in buffer.buckets):
        own = bucket.grad_data.chunk(group.size())[group.rank()].clone()
        torch.distributed.all_gather_into_tensor(bucket.grad_data, own, group=group)
