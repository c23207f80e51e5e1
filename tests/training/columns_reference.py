"""Losses that read columns written out, one sample at a time, for Hugging Face's logits: that of `own_algorithms/
log_ratio.py`, and those of training/algorithms/ in every form that a trainer sees."""

import dataclasses
import math
from collections.abc import Callable

import torch

from tests.training.own_algorithms.log_ratio import LogRatio
from training import algorithms
from training.algorithms.algorithm import Algorithm
from training.batches.columns import SampleColumns

BETA, CLIP = 0.5, 0.2
LOW, HIGH, DUAL, MOST = 0.8, 1.28, 3.0, 5.0
LEAST_P, MOST_P = math.log(0.001), math.log(0.99)


def made_of(index: int, logprobs: torch.Tensor) -> SampleColumns:
    """Columns of sample `index`, of [t] log-probabilities of its tokens: advantages of both signs, ratios on both sides
    of what is clipped, and a weight that is 0 for some."""
    numbers = torch.arange(len(logprobs))
    lists = {
        "behavior_logprobs": logprobs + 0.4 * torch.sin(numbers + index),
        "reference_logprobs": logprobs - 0.3 * torch.cos(numbers * index),
        "proximal_logprobs": logprobs + 2.5 * torch.sin(2.0 * numbers - index),
    }
    advantage = 1.0 - 0.4 * index
    return SampleColumns({"weight": float(index % 3), "advantage": advantage, "share": 0.5 + index % 2}, lists)


@dataclasses.dataclass(frozen=True)
class Case:
    """An algorithm; of one sample its loss, not yet divided, and what it adds to the denominator."""

    algorithm: Algorithm
    loss: Callable[[torch.Tensor, SampleColumns], torch.Tensor]
    share: Callable[[SampleColumns, int], float]

    def columns(self, everything: SampleColumns) -> SampleColumns:
        """Those that the algorithm reads."""
        needs = self.algorithm.needs
        return SampleColumns(
            {name: everything.per_sample[name] for name in needs.per_sample},
            {name: everything.per_token[name] for name in needs.per_token},
        )


def log_ratio_loss(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    weight, advantage = columns.per_sample["weight"], columns.per_sample["advantage"]
    ratios = (logprobs - columns.per_token["behavior_logprobs"]).exp()
    gains = torch.stack([torch.minimum(r * advantage, r.clamp(1 - CLIP, 1 + CLIP) * advantage) for r in ratios])
    log_ratio = (logprobs - columns.per_token["reference_logprobs"]).mean()
    return weight * (-gains.mean() + (BETA * log_ratio - advantage) ** 2)


def cloned(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    return -columns.per_sample["weight"] * logprobs.mean()


def cloned_as_released(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    return -columns.per_sample["weight"] * sum(min(max(one, LEAST_P), MOST_P) for one in logprobs)


def regressed(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    log_ratio = (logprobs - columns.per_token["reference_logprobs"]).sum()
    return (BETA * log_ratio - columns.per_sample["advantage"]) ** 2 / (2 * BETA)


def regressed_as_released(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    reference, advantage = columns.per_token["reference_logprobs"], columns.per_sample["advantage"]
    log_ratio = (logprobs - reference).mean()
    if advantage <= 0:
        return 0 * log_ratio
    beta = min(5.0 if reference.mean().exp() >= 0.8 else 1.0, abs(advantage / log_ratio.item()))
    apart = beta * log_ratio - advantage
    return (apart**2 / 2 if abs(apart) < 1 else abs(apart) - 0.5) / beta


def clipped(logprob: torch.Tensor, old: torch.Tensor, advantage: float) -> torch.Tensor:
    ratio = (logprob - old).exp()
    value = max(-advantage * ratio, -advantage * min(max(ratio, torch.tensor(LOW)), torch.tensor(HIGH)))
    return min(value, torch.tensor(DUAL * abs(advantage)))


def grouped(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    behavior, advantage = columns.per_token["behavior_logprobs"], columns.per_sample["advantage"]
    values = [clipped(one, old, advantage) for one, old in zip(logprobs, behavior, strict=True)]
    return columns.per_sample["weight"] * sum(values) / len(values)


def grouped_decoupled(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    total = 0 * logprobs.sum()
    advantage = columns.per_sample["advantage"]
    for one, old, behavior in zip(
        logprobs, columns.per_token["proximal_logprobs"], columns.per_token["behavior_logprobs"], strict=True
    ):
        correction = (old - behavior).exp()
        total = total + (0.0 if correction > MOST else correction) * clipped(one, old, advantage)
    return columns.per_sample["weight"] * total


def weight_of(columns: SampleColumns, num_tokens: int) -> float:
    return columns.per_sample["weight"]


CASES = {
    "log_ratio": Case(LogRatio(BETA, CLIP), log_ratio_loss, weight_of),
    "digirl": Case(algorithms.load("digirl"), cloned, weight_of),  # as filtered_bc, pae and weighted_sft
    "digirl released": Case(
        algorithms.load("digirl", "mode=released"), cloned_as_released, lambda columns, _: columns.per_sample["share"]
    ),
    "digiq": Case(algorithms.load("digiq"), cloned, lambda columns, _: columns.per_sample["share"]),
    "webrl": Case(algorithms.load("webrl", f"beta={BETA}"), regressed, lambda *_: 1.0),
    "webrl released": Case(algorithms.load("webrl", "mode=released"), regressed_as_released, lambda *_: 1.0),
    "grpo": Case(algorithms.load("grpo"), grouped, weight_of),
    "grpo decoupled": Case(
        algorithms.load("grpo", "ratio=decoupled,mean=token"),
        grouped_decoupled,
        lambda columns, num_tokens: columns.per_sample["weight"] * num_tokens,
    ),
}
