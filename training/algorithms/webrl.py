"""WebRL: regress the policy's log-ratio to the last phase's policy on the advantage.

The fixed point of the KL-regularized objective is beta log(pi*/pi_ref) = A*. With rho = log pi(a|s) - log pi_ref(a|s):

    A_t = lam (r_t + V(s_{t+1}) - V(s_t)) + (1 - lam) (r_T - V(s_t))                   (eq. 9)
    L   = mean_j (beta rho_j - A_j)^2 / (2 beta)                                       (eq. 6, divided by 2 beta)

so that the gradient is -A at the reference, as of advantage-weighted likelihood, and 0 at rho = A / beta. V is the
smaller of two heads, 0 after the last step.

Of several rounds the newest one's samples all count; of the others one success a task does, in steps of

    window_low <= perplexity < window_high       under the policy that the phase begins with

at most `replay` times as many as are new.

mode=released, of the authors' code: rho is a mean over the tokens, and

    A_t = V(s_{t+1}) - V(s_t) - 0.05 + r_T + sum_{k>=t} gamma^(k-t) r_T, then 1 where it is above 0, else -0.6
    b_j = min(beta, |A_j / rho_j|) without gradient; beta is 1, or 5 where the reference gives tokens at least 0.8
    L   = mean_j 1[A_j > 0] smooth_l1(b_j rho_j, A_j) / b_j

Actions that were bad teach nothing there, and good ones less, the further the policy has gone.

Source: WebRL (arXiv 2411.02337), webrl/trainer.py.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from torch.nn.functional import smooth_l1_loss

from common.errors import UserError
from common.options.limits import above, at_least, between
from data.samples.rewarded_step import discounted_returns
from training.algorithms.algorithm import Algorithm, BatchColumns, Mode, Needs, Number, PredictedTokens
from training.samples.estimators import td_errors
from training.samples.experience import RewardedTrajectory


@dataclasses.dataclass(frozen=True)
class WebRl(Algorithm):
    """Columns: advantage, weight with replay; `reference_logprobs` are of the policy that the phase began with."""

    beta: Annotated[float, above(0)] = 1.0
    lam: Annotated[float, between(0, 1)] = 0.5
    gamma: Annotated[float, between(0, 1)] = 0.9
    """Discount of the returns of the released mode."""
    mode: Mode = "paper"
    replay: Annotated[float, at_least(0)] = 0.0
    """Steps of earlier rounds for each new one, at most; 2 in the paper. 0: all samples count."""
    window_low: Annotated[float, at_least(0)] = 1 / 0.95
    window_high: Annotated[float, above(0)] = 1 / 0.5
    seed: Annotated[int, at_least(0)] = 0
    """Of the draw of what is replayed."""

    def check_together(self) -> None:
        super().check_together()
        if self.window_low >= self.window_high:
            raise UserError(f"window_low={self.window_low} must be below window_high={self.window_high}")

    @property
    def needs(self) -> Needs:
        weight = {"weight": Number(at_least=0.0)} if self.replay else {}
        return Needs({"advantage": Number(), **weight}, ("reference_logprobs",))

    @property
    def sources(self) -> tuple[str, ...]:
        return ("value_1", "value_2", *(("perplexity",) if self.replay else ()))

    def why_dropped(self, outcomes: Sequence[float]) -> str:
        return ""  # an advantage is to what a critic expected

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        found = [{"advantage": self._advantage(trajectory)} for trajectory in trajectories]
        if self.replay:
            for columns, weight in zip(found, self._weights(trajectories), strict=True):
                columns["weight"] = weight
        counted = np.concatenate([columns["advantage"] * columns.get("weight", 1.0) for columns in found])
        if not (counted.any() if self.mode == "paper" else (counted > 0).any()):
            raise UserError(f"no step of {len(found)} trajectories is better than expected; there is nothing to learn")
        return found

    def _weights(self, trajectories: Sequence[RewardedTrajectory]) -> list[np.ndarray]:
        rounds = np.array([trajectory.round for trajectory in trajectories])
        is_new = rounds == rounds.max()
        inside, chosen = [], set()
        for trajectory, new in zip(trajectories, is_new, strict=True):
            counts = not new and trajectory.outcome > 0 and trajectory.task not in chosen
            chosen |= {trajectory.task} if counts else set()
            perplexity = trajectory["perplexity"]
            inside.append(counts & (perplexity >= self.window_low) & (perplexity < self.window_high))
        num_new = sum(trajectory.num_steps for trajectory, new in zip(trajectories, is_new, strict=True) if new)
        places = np.flatnonzero(np.concatenate(inside))
        kept = np.zeros(sum(map(len, inside)))
        most = min(len(places), int(self.replay * num_new))
        kept[np.random.default_rng(self.seed).choice(places, most, replace=False)] = 1
        ends = np.cumsum([len(part) for part in inside])[:-1]
        return [np.maximum(part, new) for part, new in zip(np.split(kept, ends), is_new, strict=True)]

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["weight"] if self.replay else super().shares(columns)

    def _advantage(self, trajectory: RewardedTrajectory) -> np.ndarray:
        values = np.minimum(trajectory["value_1"], trajectory["value_2"])
        if self.mode == "paper":
            return mixed_advantage(trajectory.rewards, trajectory.outcome, values, self.lam)
        return released_advantage(trajectory.outcome, values, self.gamma)

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        reference = tokens.of_tokens("reference_logprobs")
        advantage = tokens.of_samples("advantage")
        log_ratio = tokens.sum_by_sample(tokens.logprobs - reference)
        if self.mode == "paper":
            losses = regression(log_ratio, advantage, self.beta)
        else:
            confidence = (tokens.sum_by_sample(reference) / tokens.num_tokens).exp()
            beta = torch.where(confidence >= 0.8, 5.0, 1.0)
            losses = released_regression(log_ratio / tokens.num_tokens, advantage, beta)
        if self.replay:
            losses = losses * tokens.of_samples("weight")
        return tokens.spread(losses / tokens.num_tokens)

    def statistics(self, tokens: PredictedTokens) -> dict[str, torch.Tensor]:
        """Of the samples that count: `log_ratio` to the reference, of the whole reply, and `advantage`."""
        log_ratio = tokens.sum_by_sample(tokens.logprobs - tokens.of_tokens("reference_logprobs"))
        advantage = tokens.of_samples("advantage")
        counts = tokens.of_samples("weight") != 0 if self.replay else torch.ones_like(advantage, dtype=torch.bool)
        return {**super().statistics(tokens), "log_ratio": log_ratio[counts], "advantage": advantage[counts]}


def mixed_advantage(rewards: np.ndarray, outcome: float, values: np.ndarray, lam: float) -> np.ndarray:
    """Eq. 9: rewards, values [h] -> [h]"""
    return lam * td_errors(rewards, values) + (1 - lam) * (outcome - values)


def released_advantage(outcome: float, values: np.ndarray, gamma: float) -> np.ndarray:
    """That of the code, in which every step has the trajectory's reward: values [h] -> [h]"""
    rewards = np.full(len(values), outcome)
    advantage = td_errors(rewards, values) - 0.05 + np.array(discounted_returns(rewards.tolist(), gamma))
    return np.where(advantage > 0, 1.0, -0.6)


def regression(log_ratio: torch.Tensor, advantage: torch.Tensor, beta: float) -> torch.Tensor:
    """[n], [n] -> [n]"""
    return (beta * log_ratio - advantage).square() / (2 * beta)


def released_regression(log_ratio: torch.Tensor, advantage: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """[n], [n], [n] -> [n]"""
    far = (advantage / log_ratio.detach()).abs().nan_to_num(math.inf)
    own = torch.minimum(beta, far)
    return torch.where(advantage > 0, smooth_l1_loss(own * log_ratio, advantage, reduction="none") / own, 0.0)


ALGORITHM = WebRl
