"""Multi-step GRPO: a clipped policy gradient whose baseline is the mean outcome of other tries of the same task.

Over the steps t of the trajectories i of a group, with outcomes R:

    A_i  = (R_i - mean R) / (std R + 1e-6) / normalizer        a group whose outcomes are all alike is dropped
    rho  = pi / pi_old, token by token
    l    = min(max(-A rho, -A clip(rho, 1 - clip_low, 1 + clip_high)), dual_clip |A|)
    L    = mean over the steps of the kept groups of the mean of l over the reply's tokens      mean=sample
         = mean of l over all their tokens                                                      mean=token

normalizer=none (OpenWebRL): a trajectory counts by its steps. trajectory: divides by their number. constant: by 10
(AsyncWebRL: with 1/|trajectory| failures, which are longer, teach too little). ratio=behavior: pi_old is the policy
that sampled, by the log-probabilities that the server gave. ratio=decoupled: pi_old is the policy that this training
starts from (`proximal_logprobs`, score.sh's), and l is multiplied by w = pi_old / pi_behavior, or by 0 where w is
above `drop_above`; such a token stays in the denominator. No KL and no entropy term.

Source: OpenWebRL's MM-GRPO (mean=sample, clip_high=0.28, dual_clip=0), AsyncWebRL (mean=token, clip_high=0.2,
dual_clip=3, normalizer=constant, ratio=decoupled); decoupled ratios: arXiv 2110.00641.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch

from common.errors import UserError
from common.options.limits import Limit, above
from training.algorithms.algorithm import Algorithm, BatchColumns, Needs, Number, PredictedTokens
from training.samples.experience import RewardedTrajectory, by_group

_SHARE = Limit("above 0 and at most 1", lambda value: 0 < value <= 1)
_DUAL_CLIP = Limit("0 (none) or above 1", lambda value: value == 0 or value > 1)
_FAR = 20.0
"""Of a log-ratio, in nats: no clip is near, and beyond 88 its exponential is infinite and has no gradient."""


@dataclasses.dataclass(frozen=True)
class Grpo(Algorithm):
    """Columns: advantage, weight (0 of what a group that was dropped has, else 1)."""

    normalizer: Literal["none", "trajectory", "constant"] = "none"
    clip_low: Annotated[float, _SHARE] = 0.2
    clip_high: Annotated[float, above(0)] = 0.28
    dual_clip: Annotated[float, _DUAL_CLIP] = 3.0
    """0: none."""
    ratio: Literal["behavior", "decoupled"] = "behavior"
    drop_above: Annotated[float, above(0)] = 5.0
    mean: Literal["sample", "token"] = "sample"

    @property
    def needs(self) -> Needs:
        proximal = ("proximal_logprobs",) if self.ratio == "decoupled" else ()
        return Needs({"advantage": Number(), "weight": Number(at_least=0.0)}, ("behavior_logprobs", *proximal))

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        advantages = np.zeros(len(trajectories))
        kept = np.zeros(len(trajectories), bool)
        groups = by_group(trajectories)
        for numbers in groups:
            outcomes = np.array([trajectories[number].outcome for number in numbers])
            kept[numbers] = outcomes.max() > outcomes.min()
            advantages[numbers] = group_advantage(outcomes)
        if not kept.any():
            raise UserError(
                f"in each of {len(groups)} groups all outcomes are alike; nothing tells good tries from bad"
            )
        return [
            {
                "advantage": np.full(trajectory.num_steps, advantage / self._divisor(trajectory)),
                "weight": np.full(trajectory.num_steps, float(keep)),
            }
            for trajectory, advantage, keep in zip(trajectories, advantages, kept, strict=True)
        ]

    def _divisor(self, trajectory: RewardedTrajectory) -> float:
        return {"none": 1.0, "trajectory": trajectory.num_steps, "constant": 10.0}[self.normalizer]

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        old = self._old(tokens)
        advantage = tokens.spread(tokens.of_samples("advantage"))
        losses = clipped(ratio_to(old, tokens), advantage, self.clip_low, self.clip_high, self.dual_clip or math.inf)
        if self.ratio == "decoupled":
            losses = losses * correction(old, tokens.of_tokens("behavior_logprobs"), self.drop_above)
        weight = tokens.of_samples("weight")
        return losses * tokens.spread(weight if self.mean == "token" else weight / tokens.num_tokens)

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        weight = columns.per_sample["weight"]
        return weight * columns.num_tokens if self.mean == "token" else weight

    def statistics(self, tokens: PredictedTokens) -> dict[str, torch.Tensor]:
        """Of the kept groups' tokens: `ratio` to pi_old; `kl`, KL(pi_old, pi) by rho - 1 - log rho; the shares whose
        loss is `clipped` and `dual_clipped`, and with decoupled ratios those that are `dropped`."""
        kept = tokens.spread(tokens.of_samples("weight")) > 0
        old = self._old(tokens)
        ratio, advantage = ratio_to(old, tokens)[kept], tokens.spread(tokens.of_samples("advantage"))[kept]
        free, single = -advantage * ratio, clipped(ratio, advantage, self.clip_low, self.clip_high, math.inf)
        found = {
            **super().statistics(tokens),
            "ratio": ratio,
            "kl": ratio - 1 - ratio.log(),
            "clipped": (single > free).float(),
        }
        if self.dual_clip:
            found["dual_clipped"] = (single > self.dual_clip * advantage.abs()).float()
        if self.ratio == "decoupled":
            behavior = tokens.of_tokens("behavior_logprobs")
            found["dropped"] = (correction(old, behavior, self.drop_above)[kept] == 0).float()
        return found

    def _old(self, tokens: PredictedTokens) -> torch.Tensor:
        return tokens.of_tokens("proximal_logprobs" if self.ratio == "decoupled" else "behavior_logprobs")


def ratio_to(old: torch.Tensor, tokens: PredictedTokens) -> torch.Tensor:
    """rho of each token: [t] -> [t]"""
    return (tokens.logprobs - old).clamp(-_FAR, _FAR).exp()


def group_advantage(outcomes: np.ndarray) -> np.ndarray:
    """(R - mean) / (std + 1e-6) with the sample's standard deviation; 0 where all are alike. [n] -> [n]"""
    if outcomes.max() == outcomes.min():
        return np.zeros(len(outcomes))
    return (outcomes - outcomes.mean()) / (outcomes.std(ddof=1) + 1e-6)


def clipped(ratio: torch.Tensor, advantage: torch.Tensor, low: float, high: float, dual: float) -> torch.Tensor:
    """[t], [t] -> [t]"""
    losses = torch.maximum(-advantage * ratio, -advantage * ratio.clamp(1 - low, 1 + high))
    return losses if math.isinf(dual) else torch.minimum(losses, dual * advantage.abs())


def correction(proximal: torch.Tensor, behavior: torch.Tensor, drop_above: float) -> torch.Tensor:
    """pi_old / pi_behavior, 0 where it is above `drop_above`. [t], [t] -> [t]"""
    weight = (proximal - behavior).exp()
    return torch.where(weight > drop_above, 0.0, weight)


ALGORITHM = Grpo
