"""The distributed optimizer's state in a checkpoint, each parameter's on the host of one rank only.

megatron-core 0.16.1 gathers all of it, 12 bytes a parameter, on the host of every data-parallel rank, where its writer
copies it once more. Here every parameter has a data-parallel rank that gathers and writes it, and a rank that loads
asks for the parameters it holds a part of. The checkpoint is the same, and so are the layouts that can read it.
"""

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedTensor, ShardedTensorFactory
from megatron.core.dist_checkpointing.utils import extract_sharded_tensors_and_factories
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

METADATA = {"distrib_optim_sharding_type": "fully_reshardable"}
"""megatron-core 0.16.1's default form of the state cannot be saved any more."""
_KEYS = ("param", "exp_avg", "exp_avg_sq")


class _Parameter(NamedTuple):
    """Of the flat buffer that the optimizer cuts over the data-parallel ranks."""

    number: int
    weight: torch.nn.Parameter
    ranges: list[range]
    """By data-parallel rank: which of its elements the rank holds."""


def share_gathering(optimizer: MegatronOptimizer) -> None:
    """Call once, before a state dict is asked for."""
    for part in getattr(optimizer, "chained_optimizers", [optimizer]):
        if isinstance(part, DistributedOptimizer):
            part.sharded_param_state_fully_reshardable = functools.partial(_sharded_state, part)


def _sharded_state(
    part: DistributedOptimizer, model: dict[str, Any], is_loading: bool = False, metadata: Any = None
) -> dict[int, dict[str, Any]]:
    """By index of a parameter: fp32 weight and moments, cut as `model` says of the weight. A collective when saving."""
    described = {sharded.data: sharded for sharded in nested_values(extract_sharded_tensors_and_factories(model)[0])}
    own, size = part.data_parallel_group.rank(), part.data_parallel_group.size()
    gathered = [0] * size
    state = {}
    for parameter in _parameters(part):
        form = described[parameter.weight]
        if is_loading:
            if parameter.ranges[own]:
                empty = [torch.empty(parameter.weight.shape, dtype=torch.float32, device="cpu") for _ in _KEYS]
                state[parameter.number] = _as_described(form, empty, form.replica_id)
        elif not any(form.replica_id[:-1]):  # other tensor-parallel ranks write it, or another pipeline stage
            owner = gathered.index(min(gathered))
            gathered[owner] += parameter.weight.numel()
            tensors = _gather(part, parameter, owner)
            if tensors:
                state[parameter.number] = _as_described(form, tensors, (*form.replica_id[:-1], 0))
    return state


def _parameters(part: DistributedOptimizer) -> Iterator[_Parameter]:
    """In the order by which Megatron numbers them."""
    size, index = part.data_parallel_group.size(), 0
    for buffer in part.buffers:
        for weight, (start, end, bucket_id) in buffer.param_index_map.items():
            bucket = buffer.buckets[bucket_id]
            share = bucket.grad_data.numel() // size
            firsts = [bucket.offset + rank * share for rank in range(size)]
            ranges = [range(max(start, first) - start, min(end, first + share) - start) for first in firsts]
            yield _Parameter(index, weight, ranges)
            index += 1


def _gather(part: DistributedOptimizer, parameter: _Parameter, owner: int) -> list[torch.Tensor]:
    """The parameter's whole state in host memory on data-parallel rank `owner`; nothing on the others."""
    group, weight = part.data_parallel_group, parameter.weight
    own, held = group.rank(), parameter.ranges[group.rank()]
    states = part._get_main_param_and_optimizer_states(weight) if held else {}
    mine = torch.stack([states[key].detach() for key in _KEYS]) if held else None
    if own != owner:
        if mine is not None:
            _exchange([torch.distributed.P2POp(torch.distributed.isend, mine, group=group, group_peer=owner)])
        return []
    pieces = {
        rank: torch.empty(len(_KEYS), len(held), device=weight.device)
        for rank, held in enumerate(parameter.ranges)
        if held
    }
    if mine is not None:
        pieces[own] = mine
    _exchange(
        [
            torch.distributed.P2POp(torch.distributed.irecv, piece, group=group, group_peer=rank)
            for rank, piece in pieces.items()
            if rank != own
        ]
    )
    whole = [torch.empty(weight.numel(), dtype=torch.float32, device="cpu") for _ in _KEYS]  # each its own storage
    for rank, piece in pieces.items():
        held = parameter.ranges[rank]
        for tensor, values in zip(whole, piece, strict=True):
            tensor[held.start : held.stop].copy_(values)
    return [tensor.view(weight.shape) for tensor in whole]


def _exchange(operations: list[torch.distributed.P2POp]) -> None:
    for work in torch.distributed.batch_isend_irecv(operations) if operations else ():
        work.wait()


def _as_described(
    form: ShardedTensor | ShardedTensorFactory, tensors: list[torch.Tensor], replica_id: Any
) -> dict[str, Any]:
    """`tensors` of `_KEYS`, cut as the weight is."""
    state = {}
    for key, tensor in zip(_KEYS, tensors, strict=True):
        fields = {"key": f"optimizer.state.{key}.{form.key}", "data": tensor, "replica_id": replica_id}
        if isinstance(form, ShardedTensor):
            fields["dtype"] = tensor.dtype
        state[key] = replace(form, **fields)
        state[key].validate_metadata_integrity()
    return state
