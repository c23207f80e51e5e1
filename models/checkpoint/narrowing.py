"""Numbers that a smaller type cannot hold: counted while tensors are rounded, and refused unless asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import torch

from common.errors import UserError

OutOfRange = Literal["refuse", "to_zero", "any"]
"""What may come of numbers outside a type's range: nothing, zeros of those too small, infinity of those too large."""


class Narrowing:
    """Rounds tensors and counts what becomes infinite or zero. `check` tells it, or ends the work."""

    def __init__(self, allowed: OutOfRange = "refuse") -> None:
        self._allowed = allowed
        self._num_infinite = self._num_zero = 0
        self._where = ""

    def round(self, name: str, tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
        """`tensor` in `dtype`; None keeps its own."""
        if tensor.is_meta or dtype is None or torch.promote_types(tensor.dtype, dtype) == dtype:
            return tensor.to(dtype or tensor.dtype)
        rounded = tensor.to(dtype)
        infinite = int(rounded.isinf().sum() - tensor.isinf().sum())
        zero = int(tensor.count_nonzero() - rounded.count_nonzero())
        if infinite or zero:
            self._num_infinite, self._num_zero = self._num_infinite + infinite, self._num_zero + zero
            self._where = self._where or f"{name} ({str(dtype).removeprefix('torch.')})"
        return rounded

    def check(self, path: Path, say: Callable[[str], None] = print) -> None:
        """Say how many numbers of the checkpoint at `path` were lost.

        Raises:
            UserError: that was not asked for.
        """
        if not self._where:
            return
        said = f"{self._num_infinite:,} numbers become infinite and {self._num_zero:,} zero, the first in {self._where}"
        if self._allowed == "refuse" or (self._allowed == "to_zero" and self._num_infinite):
            asked = "any" if self._num_infinite else "to_zero"
            raise UserError(f"{path}: {said}; choose another --dtype, or take it with --out_of_range {asked}")
        say(f"{path}: {said}")
