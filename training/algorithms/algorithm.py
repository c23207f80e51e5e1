"""What a learning algorithm says: the columns it reads, how they are made, its loss, and what that is a mean over."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import torch

from common.errors import UserError
from common.options.limits import Checked
from training.samples.experience import RewardedTrajectory

Mode = Literal["paper", "released"]
"""What an algorithm's paper says, or what its authors' code does."""


@dataclasses.dataclass(frozen=True)
class Number:
    """A per-sample column. `default` stands for a sample that has none; None: every sample must have it."""

    default: float | None = None
    at_least: float = -math.inf


@dataclasses.dataclass(frozen=True)
class Needs:
    """The columns that an algorithm reads.

    `per_sample`: numbers by name. `per_token`: names of lists with a number for each predicted token; those called
    `behavior_logprobs` come with the samples where the server gave them. Everything else is in `COLUMN_FILES`, or a
    number in the samples' json.
    """

    per_sample: Mapping[str, Number] = dataclasses.field(default_factory=dict)
    per_token: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class BatchColumns:
    """Of the n samples and their t predicted tokens, sample after sample, of a micro-batch.

    num_tokens [n]: predicted tokens of each sample. per_sample: [n] by name. per_token: [t] by name.
    """

    num_tokens: torch.Tensor
    per_sample: dict[str, torch.Tensor]
    per_token: dict[str, torch.Tensor]

    def on(self, device: torch.device) -> "BatchColumns":
        """A copy on `device`."""
        return BatchColumns(
            self.num_tokens.to(device, non_blocking=True),
            {name: value.to(device, non_blocking=True) for name, value in self.per_sample.items()},
            {name: value.to(device, non_blocking=True) for name, value in self.per_token.items()},
        )


@dataclasses.dataclass(frozen=True)
class PredictedTokens:
    """What a loss is made of. logprobs [t]: of the predicted tokens, under the policy as it is, with its gradient.

    Of an algorithm with value heads [n, heads] in their place: log(V / (1 - V)) at the last token of each prompt.
    """

    logprobs: torch.Tensor
    columns: BatchColumns

    @property
    def log_odds(self) -> torch.Tensor:
        """[n, heads]: what a critic gives in place of log-probabilities."""
        return self.logprobs

    def of_tokens(self, name: str) -> torch.Tensor:
        """[t]: a per-token column."""
        return self.columns.per_token[name]

    def of_samples(self, name: str) -> torch.Tensor:
        """[n]: a per-sample column."""
        return self.columns.per_sample[name]

    @property
    def num_tokens(self) -> torch.Tensor:
        """[n]: predicted tokens of each sample."""
        return self.columns.num_tokens

    def spread(self, values: torch.Tensor) -> torch.Tensor:
        """Each sample's value at each of its tokens: [n] -> [t]."""
        return values.repeat_interleave(self.num_tokens, output_size=len(self.logprobs))

    def sum_by_sample(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over each sample's tokens: [t] -> [n]."""
        numbers = torch.arange(len(self.num_tokens), device=values.device)
        return values.new_zeros(len(self.num_tokens)).index_add(0, self.spread(numbers), values)


class Algorithm(Checked, abc.ABC):
    """A frozen dataclass whose fields are its own options (`ALGORITHM_OPTIONS=name=value,...`), each with a default and
    its limits (common/options/limits.py): `lam: Annotated[float, between(0, 1)] = 0.5`.

    The loss of an optimizer step is the sum of `token_losses` over all predicted tokens of its global batch, divided by
    the sum of `shares` over all its samples; the trainer sees to it in every layout, padded or packed.
    """

    spelled = str

    @property
    @abc.abstractmethod
    def needs(self) -> Needs:
        """The columns it reads; they may depend on its options."""

    @abc.abstractmethod
    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        """[t]: each token's part of the loss. What belongs to a whole sample is spread over its tokens."""

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        """[n]: what each sample adds to the denominator: 1, unless a mean over something else is wanted."""
        return torch.ones(len(columns.num_tokens))

    def statistics(self, tokens: PredictedTokens) -> dict[str, torch.Tensor]:
        """What the log tells of a step beside its loss: numbers by name, [any length], also of no sample; each one's
        mean is taken over the global batch. By default the share of samples whose weight is not 0."""
        weight = self.needs.per_sample.get("weight")
        has_own = weight is not None and weight.default is None
        return {"weighted": (tokens.of_samples("weight") != 0).float()} if has_own else {}

    @property
    def value_heads(self) -> tuple[str, ...]:
        """A critic's columns: a head on the model is trained for each, and each prompt is read at its last token."""
        return ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Per-sample columns that `columns` is made of, beside the rewards."""
        return ()

    @property
    def takes_candidates(self) -> bool:
        """Whether steps may have candidate actions beside the one that was taken."""
        return False

    def why_dropped(self, outcomes: Sequence[float]) -> str:
        """Why a group of tries of one task with these outcomes teaches nothing, so that online another one takes its
        place; empty where it teaches. By default several tries that all came to the same teach nothing."""
        alike = len(outcomes) > 1 and max(outcomes) == min(outcomes)
        return f"all of {len(outcomes)} outcomes are {outcomes[0]:g}" if alike else ""

    @property
    def makes_columns(self) -> bool:
        """Whether it learns from rewards, by way of `columns`."""
        return type(self).columns is not Algorithm.columns

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        """The per-sample columns it writes: of each trajectory, in their order, [n] by name.

        Raises:
            UserError: nothing is left to learn from, or the algorithm makes no columns.
        """
        raise UserError(f"{type(self).__name__} takes the samples as they are; it makes no columns")
