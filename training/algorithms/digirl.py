"""DigiRL: imitate the steps of surprising successes that a step-level critic finds better than expected.

Instruction level (4.4): A_instr = r_T - V_instr(c); trajectories in the highest tenth are kept.
Step level (4.3), doubly robust, of the kept ones:

    A_step = lam^(H-h) r_T + (1 - lam^(H-h) r_T) (r_h + V(s_{h+1}) - V(s_h)),  kept where A_step > 1 / horizon
    L      = - sum_j keep_j (1/n_j) sum_i log pi(a_ji | s_j, a_j<i) / sum_j keep_j

mode=released, of the authors' code:

    A_step = V(s_{h+1}) - V(s_h) - 1/20 + r_h + sum_{k>=h} lam^(k-h) r_k,  kept where A_step > 0
    L      = - mean_j over the kept trajectories' steps of keep_j sum_i log clamp(pi, 0.001, 0.99)

It has no condition on the outcome, and offline it filters trajectories by outcome, not by A_instr (curriculum=outcome).
V is the smaller of two heads, 0 after the last step. Source: DigiRL (arXiv 2406.11896), digirl/trainer.py.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch

from common.errors import UserError
from common.options.limits import at_least, between
from data.samples.rewarded_step import discounted_returns
from training.algorithms.algorithm import BatchColumns, Mode, Needs, Number, PredictedTokens
from training.algorithms.weighted_sft import WeightedSft
from training.samples.estimators import keep_best, td_errors
from training.samples.experience import RewardedTrajectory


@dataclasses.dataclass(frozen=True)
class DigiRl(WeightedSft):
    """Columns: advantage, weight (1 of a step that is kept), share (1 of every step of a kept trajectory)."""

    lam: Annotated[float, between(0, 1)] = 0.5
    horizon: Annotated[int, at_least(1)] = 20
    """Steps that an agent may take: 10 or 20 in the paper."""
    quantile: Annotated[float, between(0, 1)] = 0.9
    """Trajectories below it are left out."""
    curriculum: Literal["instruction", "outcome"] = "instruction"
    """What the quantile is of: A_instr, or the outcome alone, which needs no instruction_value."""
    mode: Mode = "paper"

    @property
    def needs(self) -> Needs:
        weight = Number(at_least=0.0)
        return Needs({"weight": weight} if self.mode == "paper" else {"weight": weight, "share": weight})

    @property
    def sources(self) -> tuple[str, ...]:
        return ("value_1", "value_2", *(["instruction_value"] if self.curriculum == "instruction" else []))

    def why_dropped(self, outcomes: Sequence[float]) -> str:
        return ""  # a critic learns from failures, too

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        outcomes = np.array([trajectory.outcome for trajectory in trajectories])
        scores = outcomes
        if self.curriculum == "instruction":
            scores = outcomes - np.array([trajectory["instruction_value"][0] for trajectory in trajectories])
        kept = keep_best(scores, outcomes, self.quantile, only_success=self.mode == "paper")
        found = [self._of(trajectory, keep) for trajectory, keep in zip(trajectories, kept, strict=True)]
        if not any(columns["weight"].any() for columns in found):
            raise UserError(f"no step of {len(found)} trajectories passes the filters; there is nothing to imitate")
        return found

    def _of(self, trajectory: RewardedTrajectory, keep: bool) -> dict[str, np.ndarray]:
        values = np.minimum(trajectory["value_1"], trajectory["value_2"])
        if self.mode == "paper":
            advantage = step_advantage(trajectory.rewards, trajectory.outcome, values, self.lam)
            passes = advantage > 1 / self.horizon
        else:
            advantage = released_advantage(trajectory.rewards, values, self.lam)
            passes = advantage > 0
        share = np.full(trajectory.num_steps, float(keep))
        return {"advantage": advantage, "weight": share * passes, "share": share}

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        if self.mode == "paper":
            return super().token_losses(tokens)
        return -clamped_likelihood(tokens.logprobs) * tokens.spread(tokens.of_samples("weight"))

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["weight" if self.mode == "paper" else "share"]


def step_advantage(rewards: np.ndarray, outcome: float, values: np.ndarray, lam: float) -> np.ndarray:
    """The doubly robust one of 4.3: rewards, values [h] -> [h]"""
    later = lam ** np.arange(len(rewards))[::-1] * outcome
    return later + (1 - later) * td_errors(rewards, values)


def released_advantage(rewards: np.ndarray, values: np.ndarray, lam: float) -> np.ndarray:
    """That of the code: rewards, values [h] -> [h]"""
    return td_errors(rewards, values) - 1 / 20 + np.array(discounted_returns(rewards.tolist(), lam))


def clamped_likelihood(logprobs: torch.Tensor) -> torch.Tensor:
    """log clamp(pi, 0.001, 0.99), as in the code: outside it tokens have no gradient. [t] -> [t]"""
    return logprobs.clamp(math.log(0.001), math.log(0.99))


ALGORITHM = DigiRl
