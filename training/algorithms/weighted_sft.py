"""Weighted supervised fine-tuning: filtered, reward- or advantage-weighted imitation, whatever made the weights.

Every sample must have a `weight`, at least 0. The mean is over weights, not samples: leaving a sample out and giving it
the weight 0 are the same, and the size of a step does not follow the share of samples that a filter lets through.
"""

import dataclasses

import torch

from training.algorithms.algorithm import BatchColumns, Needs, Number
from training.algorithms.sft import Sft


@dataclasses.dataclass(frozen=True)
class WeightedSft(Sft):
    """Mean over weights of the mean over the reply's tokens of -log pi."""

    @property
    def needs(self) -> Needs:
        return Needs(per_sample={"weight": Number(at_least=0.0)})

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["weight"]


ALGORITHM = WeightedSft
