"""Joining and splitting as moves of rows between files, which the system does without this process touching a byte.

A rule that only reorders rows (all of a weight table's do) is asked to reorder row numbers instead of rows; the answer
says which bytes of which file come where. Meant to cost little more than a copy of the files
(docs/results/checkpoint_conversion.md).
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from models.checkpoint.stored_tensor import StoredTensor


@dataclasses.dataclass(frozen=True)
class Move:
    """`nbytes` from byte `offset` of a file's tensor; of zeros where there is none."""

    source: StoredTensor | None
    offset: int
    nbytes: int


def whole(tensor: StoredTensor) -> list[Move] | None:
    """A tensor as it lies in its file; None when its elements lie in another order there."""
    return [Move(tensor, 0, tensor.nbytes)] if tensor.stride is None else None


def moves(
    rule: Callable[[list[torch.Tensor], Any], Sequence[torch.Tensor]], parts: Sequence[StoredTensor], config: Any
) -> list[list[Move]] | None:
    """For each tensor that `rule` makes of `parts`, the moves that make it; None when it does more than move rows."""
    row_bytes = {part.nbytes // part.shape[0] for part in parts if part.shape and part.shape[0]}
    if len(row_bytes) != 1 or any(part.stride is not None or not part.shape for part in parts):
        return None
    numbered, starts, position = [], [], 1
    for part in parts:
        rows = torch.arange(position, position + part.shape[0])  # 0 is what the rule pads with
        numbered.append(rows.view(-1, *(1,) * (len(part.shape) - 1)))
        starts.append(position)
        position += part.shape[0]
    try:
        results = rule(numbered, config)
    except (RuntimeError, ValueError, IndexError):
        return None
    size = row_bytes.pop()
    return [list(_runs(result.flatten(), parts, starts, size)) for result in results]


def _runs(rows: torch.Tensor, parts: Sequence[StoredTensor], starts: list[int], size: int) -> Iterator[Move]:
    """Neighbors that stay neighbors are one move."""
    together = (rows.diff() == 1) | ((rows[1:] == 0) & (rows[:-1] == 0))
    together &= ~torch.isin(rows[1:], torch.tensor(starts))
    cuts = [0, *((~together).nonzero().flatten() + 1).tolist(), len(rows)]
    for begin, end in itertools.pairwise(cuts):
        first = int(rows[begin])
        if first == 0:
            yield Move(None, 0, (end - begin) * size)
            continue
        part = max(index for index, start in enumerate(starts) if start <= first)
        yield Move(parts[part], (first - starts[part]) * size, (end - begin) * size)
