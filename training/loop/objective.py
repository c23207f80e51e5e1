"""The loss of an optimizer step: an algorithm's, normalized over the global batch, exactly and in every layout."""

import dataclasses
from collections.abc import Sequence

import torch
from megatron.core import parallel_state

from training.algorithms.algorithm import Algorithm, BatchColumns, PredictedTokens
from training.batches.collate import MicroBatch
from training.modules.batching import IGNORE
from training.modules.collectives import AllGather
from training.modules.language.context_parallel import local_positions


@dataclasses.dataclass(frozen=True)
class Objective:
    """`algorithm`'s loss. `denominator`: its shares of a micro-batch, on average over those of all replicas.
    `measured`: sums and counts of its statistics, of the micro-batches so far."""

    algorithm: Algorithm
    denominator: float
    measured: list[torch.Tensor] = dataclasses.field(default_factory=list)

    @staticmethod
    def of_step(algorithm: Algorithm, batches: Sequence[MicroBatch]) -> "Objective":
        """Of a step of which `batches` are this replica's. A collective over the replicas."""
        total = sum(float(algorithm.shares(batch.columns).double().sum()) for batch in batches if batch.keys)
        num_replicas = parallel_state.get_data_parallel_world_size()
        if num_replicas > 1:
            everywhere = torch.tensor(total, dtype=torch.float64, device=torch.cuda.current_device())
            torch.distributed.all_reduce(everywhere, group=parallel_state.get_data_parallel_group())
            total = float(everywhere)
        return Objective(algorithm, (total or 1.0) / num_replicas / len(batches))  # no share at all: the loss is 0

    def __call__(self, batch: MicroBatch, losses: torch.Tensor) -> torch.Tensor:
        """A micro-batch's loss, of the cross entropy [b, s] of its labels, or a critic's output [b, s, heads] there.

        The mean over the micro-batches of all replicas is the loss of the step. Of a sequence that several ranks share,
        each one's is the part of the positions it holds; the algorithm sees them all.
        """
        if not batch.keys:
            return losses.sum()  # 0, with a gradient for the stages before this one
        group = parallel_state.get_context_parallel_group()
        whole = AllGather.apply(losses.unsqueeze(0), group).sum(0) if group.size() > 1 else losses
        labeled = batch.labels != IGNORE
        found = whole[labeled] if self.algorithm.value_heads else -whole[labeled]
        tokens = PredictedTokens(found, batch.columns)
        own = self.algorithm.token_losses(tokens)
        self._measure(tokens)
        spread = own.new_zeros(labeled.shape).masked_scatter(labeled, own)
        if group.size() > 1:
            lengths = batch.segment_lengths or (losses.size(1),)
            held = torch.zeros(losses.size(1), device=losses.device)
            held[local_positions(lengths, group.rank(), group.size(), losses.device)] = 1.0
            spread = spread * held
        return spread.sum() / self.denominator

    @torch.no_grad()
    def _measure(self, tokens: PredictedTokens) -> None:
        numbers = self.algorithm.statistics(tokens).values()
        if numbers:
            self.measured.append(torch.stack([torch.stack([each.sum(), _count(each)]) for each in numbers]).double())

    def statistics(self) -> dict[str, float]:
        """Means over the step's global batch, of what there was any. A collective of the last pipeline stage's
        replicas; ranks that share a sample have all of it."""
        nothing = PredictedTokens(torch.zeros(0), no_columns(self.algorithm))
        names = tuple(self.algorithm.statistics(nothing))
        if not names:
            return {}
        total = torch.zeros(len(names), 2, dtype=torch.float64, device=torch.cuda.current_device())
        for each in self.measured:
            total += each
        torch.distributed.all_reduce(total, group=parallel_state.get_data_parallel_group())
        return {name: sum_ / count for name, (sum_, count) in zip(names, total.tolist(), strict=True) if count}


def no_columns(algorithm: Algorithm) -> BatchColumns:
    """Of no sample."""
    needs, none = algorithm.needs, torch.zeros(0)
    return BatchColumns(none.long(), dict.fromkeys(needs.per_sample, none), dict.fromkeys(needs.per_token, none))


def _count(values: torch.Tensor) -> torch.Tensor:
    return values.new_tensor(values.numel())
