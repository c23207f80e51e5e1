"""Digi-Q: of N candidate actions at a step imitate the best by an offline critic, where it beats the step's value.

Critics, a the data's action, bars for slowly following copies:

    J_Q = E (Q(s, a) - (r + gamma Vbar(s')))^2        J_V = E (V(s) - Qbar(s, a))^2

Extraction (eq. 6), a* = argmax over the candidates of Q(s, a_i), A = Q(s, a*) - V(s):

    L = - sum_j w_j (1/n_j) sum_i log pi(a*_ji | s_j, a*_j<i) / sum_j w_j

    loss=best_of_n    w = 1[A > threshold]
    loss=awr          w = exp(A / temperature), at most 20, of the data's action       its ablations
    loss=pg           w = A, of the data's action; the mean is over steps

Q and V are the smaller of two heads. mode=released, of the authors' code: the larger; awr and pg take the best
candidate, too, with A cut to [0, 1] (so that no action is ever pushed away), pg 5 times A and awr without a limit, and
the likelihood is DigiRL's. Candidates are samples of their own (`candidate` of `data/samples/rewarded_step.py`).

Source: Digi-Q (arXiv 2502.15760), digiq/trainer.py.
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import numpy as np
import torch

from common.errors import UserError
from common.options.limits import above
from training.algorithms.algorithm import Algorithm, BatchColumns, Mode, Needs, Number, PredictedTokens
from training.algorithms.digirl import clamped_likelihood
from training.samples.experience import RewardedTrajectory

Numbers = TypeVar("Numbers", np.ndarray, torch.Tensor)

MOST_WEIGHT = 20.0
"""Of AWR (arXiv 1910.00177)."""


@dataclasses.dataclass(frozen=True)
class DigiQ(Algorithm):
    """Columns: advantage, weight, share (what a sample adds to the denominator)."""

    loss: Literal["best_of_n", "awr", "pg"] = "best_of_n"
    threshold: float = 0.1
    """0.1 for AitW general, 0.05 for web shopping in the paper."""
    temperature: Annotated[float, above(0)] = 0.01
    """Of awr."""
    mode: Mode = "paper"

    @property
    def needs(self) -> Needs:
        return Needs({"weight": Number(), "share": Number(at_least=0.0)})

    @property
    def sources(self) -> tuple[str, ...]:
        return ("q_1", "q_2", "value_1", "value_2")

    @property
    def takes_candidates(self) -> bool:
        return True

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        found = [self._of(trajectory) for trajectory in trajectories]
        if not any(columns["weight"].any() for columns in found):
            raise UserError(f"no action of {len(found)} trajectories is better than its step's value by the threshold")
        return found

    def _of(self, trajectory: RewardedTrajectory) -> dict[str, np.ndarray]:
        of_twins = np.minimum if self.mode == "paper" else np.maximum
        q = of_twins(trajectory["q_1"], trajectory["q_2"])
        advantage = q - of_twins(trajectory["value_1"], trajectory["value_2"])
        takes_best = self.loss == "best_of_n" or self.mode == "released"
        target = best_candidates(q, trajectory.steps) if takes_best else trajectory.candidates == 0
        weight = np.where(target, self._weight(advantage), 0.0)
        counts_all = self.loss == "pg" or self.mode == "released"
        return {"advantage": advantage, "weight": weight, "share": np.where(target, 1.0, 0.0) if counts_all else weight}

    def _weight(self, advantage: np.ndarray) -> np.ndarray:
        cut = np.clip(advantage, 0, 1) if self.mode == "released" else advantage
        if self.loss == "best_of_n":
            return (cut > self.threshold).astype(float)
        if self.loss == "pg":
            return 5 * cut if self.mode == "released" else cut
        most = np.inf if self.mode == "released" else np.log(MOST_WEIGHT)
        return np.exp(np.minimum(cut / self.temperature, most))

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        weight = tokens.of_samples("weight")
        if self.mode == "released":
            return -clamped_likelihood(tokens.logprobs) * tokens.spread(weight)
        return -tokens.logprobs * tokens.spread(weight / tokens.num_tokens)

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["share"]


def best_candidates(q: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Which samples have the largest Q of their step, the first of equal ones: [n], [n] -> [n] bool"""
    best = np.zeros(len(q), bool)
    for step in np.unique(steps):
        own = np.flatnonzero(steps == step)
        best[own[q[own].argmax()]] = True
    return best


def q_targets(rewards: Numbers, following: Numbers, gamma: float) -> Numbers:
    """r + gamma Vbar(s'); `following` are Vbar(s'), 0 after the last step. [n], [n] -> [n]"""
    return rewards + gamma * following


ALGORITHM = DigiQ
