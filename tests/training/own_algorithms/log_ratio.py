"""Every kind of column in one loss: a clipped ratio to the sampling policy, and a whole reply's ratio to a reference.

The second is squared a sample at a time, so that no token's part can be computed without the others', wherever they
are. Not a published algorithm: clipping is PPO's (arXiv 1707.06347), the square WebRL's (2411.02337, eq. 6).
"""

import dataclasses

import torch

from training.algorithms.algorithm import Algorithm, BatchColumns, Needs, Number, PredictedTokens


@dataclasses.dataclass(frozen=True)
class LogRatio(Algorithm):
    beta: float = 1.0
    clip: float = 0.2

    @property
    def needs(self) -> Needs:
        numbers = {"weight": Number(default=1.0, at_least=0.0), "advantage": Number()}
        return Needs(numbers, ("behavior_logprobs", "reference_logprobs"))

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        advantage, weight = tokens.of_samples("advantage"), tokens.of_samples("weight")
        ratio = (tokens.logprobs - tokens.of_tokens("behavior_logprobs")).exp()
        gain = tokens.spread(advantage)
        clipped = -torch.minimum(ratio * gain, ratio.clamp(1 - self.clip, 1 + self.clip) * gain)
        log_ratio = tokens.sum_by_sample(tokens.logprobs - tokens.of_tokens("reference_logprobs")) / tokens.num_tokens
        regression = (self.beta * log_ratio - advantage).square()
        return tokens.spread(weight / tokens.num_tokens) * (clipped + tokens.spread(regression))

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["weight"]


ALGORITHM = LogRatio
