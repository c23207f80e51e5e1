"""One step's forward and backward passes through Megatron's schedules."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.utils import get_attr_wrapped_model

from training import layout
from training.batches.collate import MicroBatch
from training.loop.objective import Objective
from training.loop.parallel import Chunks
from training.modules.batching import NO_IMAGES

LossFunction = Callable[[MicroBatch, torch.Tensor], Any]
"""(micro-batch, token losses [b, s]) -> what Megatron's schedule expects of a loss function."""


def forward_backward(
    chunks: Chunks, batches: Sequence[MicroBatch], seq_len: int, objective: Objective
) -> list[torch.Tensor]:
    """Accumulate the gradients of this replica's micro-batches; their losses come back on the last pipeline stage."""
    return _run(chunks, batches, seq_len, partial(_with_report, objective), forward_only=False)


@torch.no_grad()
def forward_only(chunks: Chunks, batches: Sequence[MicroBatch], seq_len: int, loss: LossFunction) -> list[Any]:
    """What `loss` returns of each micro-batch, on the last pipeline stage; no gradients."""
    return _run(chunks, batches, seq_len, loss, forward_only=True, collect_non_loss_data=True)


def _with_report(objective: Objective, batch: MicroBatch, losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    loss = objective(batch, losses)
    return loss, loss.detach().clone()  # Megatron scales `loss` in place


def _run(
    chunks: Chunks, batches: Sequence[MicroBatch], seq_len: int, loss: LossFunction, forward_only: bool, **options: Any
) -> list[Any]:
    iterators: list[Iterator[MicroBatch]] = [iter(batches) for _ in chunks]
    return get_forward_backward_func()(
        forward_step_func=partial(_forward_step, loss),
        data_iterator=iterators if len(chunks) > 1 else iterators[0],
        model=chunks if len(chunks) > 1 else chunks[0],
        num_microbatches=len(batches),
        seq_length=seq_len,
        micro_batch_size=len(batches[0].tokens),
        forward_only=forward_only,
        **options,
    )


def _forward_step(loss: LossFunction, batches: Iterator[MicroBatch], model: Any) -> tuple[torch.Tensor, partial[Any]]:
    """One micro-batch through this pipeline stage, and the function that makes its loss of the last stage's output."""
    batch = next(batches).on(layout.device())
    sees = get_attr_wrapped_model(model, "pre_process")
    images = batch.images.load().to(layout.device()) if sees else NO_IMAGES
    output = model(
        batch.tokens,
        labels=batch.labels,
        images=images,
        segment_lengths=batch.segment_lengths,
        is_feature=batch.is_feature,
        position_ids=batch.position_ids,
        num_read=batch.num_read,
        temperatures=batch.temperatures,
    )
    return output, partial(loss, batch)


def sum_over_replicas(values: torch.Tensor) -> torch.Tensor:
    """The sum over data-parallel replicas and the ranks that share their sequences."""
    torch.distributed.all_reduce(values, group=parallel_state.get_data_parallel_group(with_context_parallel=True))
    return values
