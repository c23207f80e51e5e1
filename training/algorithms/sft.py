"""Supervised fine-tuning, imitation: the negative log-likelihood of every reply, whatever its length, counts alike.

A `weight` in a sample's json scales its loss: converted rollouts have 0 for failures. The mean is over all samples,
also those of weight 0.
"""

import dataclasses

import torch

from training.algorithms.algorithm import Algorithm, Needs, Number, PredictedTokens


@dataclasses.dataclass(frozen=True)
class Sft(Algorithm):
    """Mean over samples of weight times the mean over the reply's tokens of -log pi."""

    @property
    def needs(self) -> Needs:
        return Needs(per_sample={"weight": Number(default=1.0)})

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        return -tokens.logprobs * tokens.spread(1 / tokens.num_tokens * tokens.of_samples("weight"))


ALGORITHM = Sft
