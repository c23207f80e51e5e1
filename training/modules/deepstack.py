"""Deepstack (arXiv 2406.04334): features of a tower's inner layers, added behind the first decoder layers.

They travel as what Megatron calls `context`, an argument that every layer hands to the next and that only
cross-attention would read. So they are inputs of recomputed layers, which thus see those of their own micro-batch and
pass gradients on, where a hook that remembers them would see the newest ones.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch


def add_behind(layers: Sequence[torch.nn.Module], learns: bool) -> None:
    """Behind each of `layers`, the first of a model, its part of `context` [layers, s, b, h] is added.

    Without `learns` nothing that made them does, though whatever passes a recomputed layer asks for gradients.
    """
    for number, layer in enumerate(layers):
        layer.register_forward_hook(partial(_add, number, number + 1 == len(layers), learns))


def _add(
    number: int,
    is_last: bool,
    learns: bool,
    layer: torch.nn.Module,
    args: Any,
    output: tuple[torch.Tensor, torch.Tensor | None],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    hidden, features = output
    if features is None:
        return output
    own = features[number] if learns else features[number].detach()
    return hidden + own, None if is_last else features
