"""How far a layout in bf16 may be from fp32: twice as far as one process is, in small tensors three times.

Every tensor that a step gives is compared by itself: the losses of the learned tokens, the logits, the gradient of each
parameter. Its error is the root of the summed squares of what lies between it and Hugging Face's model in fp32 with the
same weights, which bf16 holds exactly. Beside it stands the error of one process: Hugging Face's own model in bf16 on
the same micro-batches. It is made of the same roundings, so that no tolerance need be chosen for a tensor's size or
depth. The micro-batches matter: PyTorch's LayerNorm on a CPU sums its weight's gradient over all rows of a call in
bf16, so with half the rows CLIP's first norms were three times as exact.

`FACTOR` is 2: a layout may round twice as much (tensor parallelism rounds each rank's part of a product and each sum of
parts, where one process rounds the product once), and independent roundings add up by their squares: sqrt(2); kernels
that sum in another order differ by as much again. `SMALL_FACTOR` is 3: two runs are two draws, for they round other
numbers. In a norm's 64 weights or a bias, all behind the same few hidden states, the error has so few independent
parts that its size, too, is known to some 25 % only, and the largest of a hundred such ratios lies about three of their
standard deviations off.

What is not rounding (a gradient that is missing, counted twice, or of other tokens; a sum in the wrong precision that
grows with the number of its terms) moves a tensor by a share of itself, 10 to 100 times what bf16 does.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch.nn import functional

FACTOR, SMALL_FACTOR = 2.0, 3.0
SMALL = 1000
"""Tensors of fewer numbers are small."""


@dataclasses.dataclass(frozen=True)
class TensorError:
    """Distances from fp32, and the size of what they are distances from (roots of summed squares)."""

    layout: float
    one_process: float
    size: float
    elements: int

    @property
    def factor(self) -> float:
        """How many times as far as one process it may be."""
        return SMALL_FACTOR if self.elements < SMALL else FACTOR

    @property
    def times(self) -> float:
        """How many times as far as one process; where that is exact (no gradient at all), so must the layout be."""
        if self.one_process:
            return self.layout / self.one_process
        return math.inf if self.layout else 0.0


Errors = dict[str, TensorError]
"""By tensor: "loss", "logits" where the layout gives them, "norm", and the parameters."""


class Sample(Protocol):
    """Its tokens, and which of them are learned."""

    ids: torch.Tensor
    loss_mask: torch.Tensor


@dataclasses.dataclass
class Outcome:
    """What a model makes of some samples: the losses of each one's learned tokens, its logits [tokens, vocabulary], and
    the gradients of the mean of the samples' mean losses, by parameter."""

    losses: list[torch.Tensor]
    logits: list[torch.Tensor]
    gradients: dict[str, torch.Tensor]

    @staticmethod
    def of(model: Any, micro_batches: Sequence[tuple[Sequence[Sample], Mapping[str, torch.Tensor]]]) -> "Outcome":
        """Of samples and what Hugging Face's `model` takes for them, padded on the right; summed over micro-batches in
        fp32."""
        gradients = {name: torch.zeros(weight.shape) for name, weight in model.named_parameters()}
        losses, all_logits = [], []
        num_samples = sum(len(samples) for samples, _ in micro_batches)
        for samples, inputs in micro_batches:
            rows = model(**{name: _cast(value, model.dtype) for name, value in inputs.items()}).logits.float()
            own = [logits[: len(sample.ids)] for logits, sample in zip(rows, samples, strict=True)]
            token_losses = [_losses(logits, sample) for logits, sample in zip(own, samples, strict=True)]
            model.zero_grad()
            (sum(one.mean() for one in token_losses) / num_samples).backward()
            for name, parameter in model.named_parameters():
                if parameter.grad is not None:
                    gradients[name] += parameter.grad
            losses += [one.detach() for one in token_losses]
            all_logits += [one.detach() for one in own]
        return Outcome(losses, all_logits, gradients)

    @property
    def loss(self) -> float:
        return sum(float(losses.mean()) for losses in self.losses) / len(self.losses)

    @property
    def norm(self) -> float:
        """Of all gradients together."""
        return math.sqrt(sum(float(gradient.square().sum()) for gradient in self.gradients.values()))


def measure(found: Outcome, one_process: Outcome, exact: Outcome, norm: float) -> Errors:
    """The errors of a layout, whose optimizer says that its gradient's norm is `norm`."""
    errors = {"loss": _distance(found.losses, one_process.losses, exact.losses)}
    if found.logits:
        errors["logits"] = _distance(found.logits, one_process.logits, exact.logits)
    for name, gradient in exact.gradients.items():
        errors[name] = _distance([found.gradients[name]], [one_process.gradients[name]], [gradient])
    # the norm can be no farther off than the gradients are, all together
    apart = math.hypot(*(errors[name].one_process for name in exact.gradients))
    errors["norm"] = TensorError(abs(norm - exact.norm), apart, exact.norm, 1)
    return errors


def read(found: Mapping[str, Mapping[str, float]]) -> Errors:
    """From JSON."""
    return {name: TensorError(**error) for name, error in found.items()}


def beyond(errors: Errors, leeway: float = 1.0) -> list[str]:
    """A line for each tensor that is farther off than `leeway` times what it may be."""
    return [
        f"{name}: {error.layout:.2e} from fp32, {error.times:.2f} times one process's {error.one_process:.2e}"
        for name, error in errors.items()
        if error.times > leeway * error.factor
    ]


def _losses(logits: torch.Tensor, sample: Sample) -> torch.Tensor:
    loss_mask = sample.loss_mask[1:]
    return functional.cross_entropy(logits[:-1][loss_mask], sample.ids[1:][loss_mask], reduction="none")


def _cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value


def _distance(
    found: Sequence[torch.Tensor], one_process: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]
) -> TensorError:
    assert [one.shape for one in found] == [one.shape for one in exact]

    def norm_of(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor] | None = None) -> float:
        pairs = zip(tensors, others, strict=True) if others else ((one, 0) for one in tensors)
        return math.sqrt(sum(float((one - other).double().square().sum()) for one, other in pairs))

    elements = sum(one.numel() for one in exact)
    return TensorError(norm_of(found, exact), norm_of(one_process, exact), norm_of(exact), elements)
