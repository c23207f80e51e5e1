"""How far the trainer's log-probabilities are from those that the server gave, token by token, before a step.

Those of replies by the very weights that are trained on should be the same but for rounding. Those by older weights
differ by what was learned since, too.
"""

import dataclasses
import math
from collections.abc import Callable

import torch

from common.errors import UserError
from training.batches.collate import Collator, Share
from training.critics.scoring import by_sample, holds_the_scores
from training.loop.parallel import Chunks
from training.loop.step import forward_only
from training.online.group import known_logprobs


@dataclasses.dataclass(frozen=True)
class Difference:
    """|log pi_train - log pi_server| over tokens: its mean and maximum, and the share of ratios outside [0.5, 2];
    `mean_of_same`: of replies by the very weights, None without any. NaN where the server told of no token."""

    num_tokens: int
    mean: float
    max: float
    outside: float
    mean_of_same: float | None

    def check(self, bound: float) -> None:
        """`UserError` above it."""
        if self.num_tokens and not self.mean <= bound:
            same = "none is" if self.mean_of_same is None else f"there {self.mean_of_same:.3g}"
            raise UserError(
                f"log-probabilities of trainer and server differ by {self.mean:.3g} on average, more than "
                f"MAX_LOGPROB_DIFFERENCE={bound:g} (of replies by the very weights: {same}). Server and trainer must "
                "compute the same policy (precision, image sizes); else lower LR, MAX_LAG or allow more"
            )


def compare(
    chunks: Chunks, collator: Collator, share: Share, seq_len: int, is_same: Callable[[str], bool]
) -> Difference:
    """Of this replica's `share` of samples, and all others'; `is_same`: whether a weights version is the trainer's. A
    collective."""
    scored = forward_only(chunks, collator.collate(share.samples), seq_len, by_sample)
    losses = dict(pair for pairs in scored for pair in pairs)
    sums, largest = torch.zeros(5, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    for sample in share.samples if holds_the_scores() else ():
        apart = (-losses[sample.key] - known_logprobs(sample)).abs().double()
        same = is_same(sample.weights_version)
        outside, total = float((apart > math.log(2)).sum()), float(apart.sum())
        sums += torch.tensor([len(apart), total, outside, same * len(apart), same * total], dtype=torch.float64)
        largest = torch.maximum(largest, apart.max())
    device = torch.cuda.current_device()
    sums, largest = sums.to(device), largest.to(device)
    torch.distributed.all_reduce(sums)
    torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX)
    count, total, outside, num_same, total_same = sums.tolist()
    mean_of_same = total_same / num_same if num_same else None
    if not count:
        return Difference(0, math.nan, math.nan, math.nan, None)
    return Difference(int(count), total / count, float(largest), outside / count, mean_of_same)
