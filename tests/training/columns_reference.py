"""The loss of `own_algorithms/log_ratio.py` written out, one sample at a time, for Hugging Face's logits."""

import torch

from training.columns import SampleColumns

BETA, CLIP = 0.5, 0.2


def made_of(index: int, logprobs: torch.Tensor) -> SampleColumns:
    """Columns of sample `index`, of [t] log-probabilities of its tokens: advantages of both signs, ratios on both sides
    of what is clipped, and a weight that is 0 for some."""
    numbers = torch.arange(len(logprobs))
    lists = {
        "behavior_logprobs": logprobs + 0.4 * torch.sin(numbers + index),
        "reference_logprobs": logprobs - 0.3 * torch.cos(numbers * index),
    }
    return SampleColumns({"weight": float(index % 3), "advantage": 1.0 - 0.4 * index}, lists)


def loss(logprobs: torch.Tensor, columns: SampleColumns) -> torch.Tensor:
    """Of one sample, not yet divided by the sum of the weights."""
    weight, advantage = columns.per_sample["weight"], columns.per_sample["advantage"]
    ratios = (logprobs - columns.per_token["behavior_logprobs"]).exp()
    gains = torch.stack([torch.minimum(r * advantage, r.clamp(1 - CLIP, 1 + CLIP) * advantage) for r in ratios])
    log_ratio = (logprobs - columns.per_token["reference_logprobs"]).mean()
    return weight * (-gains.mean() + (BETA * log_ratio - advantage) ** 2)
