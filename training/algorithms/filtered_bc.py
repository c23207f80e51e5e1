"""Filtered behavior cloning: imitate the trajectories that succeeded, or those of the highest outcomes.

    keep = outcome > 0                                       rule=success
    keep = outcome > 0 and outcome >= quantile(outcomes)     rule=quantile, mode=paper
    keep = outcome >= quantile(outcomes)                     rule=quantile, mode=released
    keep = 1                                                 rule=all: imitation, a baseline that knows no outcomes
    L    = - sum_j keep_j (1/n_j) sum_i log pi(a_ji | s_j, a_j<i) / sum_j keep_j

Source: the baseline of DigiRL (arXiv 2406.11896) and of WebRL (2411.02337), which takes the quantile 0.7. DigiRL's code
has no condition on the outcome, so that below 10 % of successes it clones every failure, and its own
likelihood (digirl.py).
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch

from common.errors import UserError
from common.options.limits import between
from training.algorithms.algorithm import Mode, PredictedTokens
from training.algorithms.digirl import clamped_likelihood
from training.algorithms.weighted_sft import WeightedSft
from training.samples.estimators import keep_best
from training.samples.experience import RewardedTrajectory


@dataclasses.dataclass(frozen=True)
class FilteredBc(WeightedSft):
    """Columns: weight, 1 of every step of a kept trajectory."""

    rule: Literal["success", "quantile", "all"] = "success"
    quantile: Annotated[float, between(0, 1)] = 0.9
    mode: Mode = "paper"

    def why_dropped(self, outcomes: Sequence[float]) -> str:
        return "" if self.rule == "all" else super().why_dropped(outcomes)

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        outcomes = np.array([trajectory.outcome for trajectory in trajectories])
        if self.rule == "all":
            kept = np.ones(len(outcomes), bool)
        elif self.rule == "success":
            kept = outcomes > 0
        else:
            kept = keep_best(outcomes, outcomes, self.quantile, only_success=self.mode == "paper")
        if not kept.any():
            raise UserError(f"none of {len(kept)} trajectories succeeded; there is nothing to clone")
        return [
            {"weight": np.full(trajectory.num_steps, float(keep))}
            for trajectory, keep in zip(trajectories, kept, strict=True)
        ]

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        if self.mode == "paper":
            return super().token_losses(tokens)
        return -clamped_likelihood(tokens.logprobs) * tokens.spread(tokens.of_samples("weight"))


ALGORITHM = FilteredBc
