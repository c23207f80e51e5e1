"""Tensors of OpenWebVoyager's Megatron checkpoints, and how tensor-parallel ranks cut them. `models/<family>/legacy.py`
is the table of a family that such checkpoints exist of:

    VOCABULARY                                  Hugging Face names of what has extra rows: embedding, output layer
    legacy_table(config)                        every weight, once
    check_tensor_parallel(config, num_ranks)    `UserError` when it cannot be cut for so many
    settle(config, table, whole, folder)        brings `config` in line with the stored tensors, which `whole` reads
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

Cut = Literal["copy", "rows", "columns", "gated"]
"""Every rank has it whole; its share of the rows; of the columns; of the gate's rows, then of the up projection's."""


@dataclasses.dataclass(frozen=True)
class LegacyWeight:
    """One tensor below `model.` of a `model_optim_rng.pt` and the Hugging Face tensors it is joined from."""

    megatron: str
    hf: tuple[str, ...]
    cut: Cut = "copy"
    join: Callable[[Sequence[torch.Tensor], Any], torch.Tensor] = lambda parts, config: parts[0]
    split: Callable[[torch.Tensor, Any], Sequence[torch.Tensor]] = lambda tensor, config: (tensor,)
    also: tuple[str, ...] = ()
    """Other names for it: of trained checkpoints when reading, written as well when `duplicated`."""
    duplicated: bool = False


def cut(tensor: torch.Tensor, how: Cut, num_ranks: int) -> list[torch.Tensor]:
    """What each tensor-parallel rank holds; `ValueError` when it cannot be divided."""
    if how == "copy":
        return [tensor] * num_ranks
    if how == "gated":
        halves = [cut(half, "rows", num_ranks) for half in tensor.chunk(2)]
        return [torch.cat(parts) for parts in zip(*halves, strict=True)]
    axis = 0 if how == "rows" else 1
    if tensor.size(axis) % num_ranks:
        raise ValueError(f"{tensor.size(axis)} {how}")
    return list(tensor.chunk(num_ranks, dim=axis))


def uncut(parts: Sequence[torch.Tensor], how: Cut) -> torch.Tensor:
    """The inverse of `cut`."""
    if how == "copy" or len(parts) == 1:
        return parts[0]
    if how == "gated":
        halves = zip(*(part.chunk(2) for part in parts), strict=True)
        return torch.cat([torch.cat(half) for half in halves])
    return torch.cat(list(parts), dim=0 if how == "rows" else 1)
