"""Numbers that a smaller type cannot hold: counted while tensors are rounded, and refused unless they were asked for."""

from typing import Literal

import torch

from common.errors import UserError

OutOfRange = Literal["refuse", "to_zero", "any"]
"""What may come of numbers outside a type's range: nothing, zeros of those too small, infinity of those too large."""


class Narrowing:
    """Rounds tensors and counts what becomes infinite or zero. `check` ends the work."""

    def __init__(self, allowed: OutOfRange = "refuse") -> None:
        self._allowed = allowed
        self.num_infinite = self.num_zero = 0
        self._where: str | None = None

    def round(self, name: str, tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
        """`tensor` in `dtype`; None keeps its own."""
        if dtype is None or torch.promote_types(tensor.dtype, dtype) == dtype:
            return tensor.to(dtype or tensor.dtype)
        rounded = tensor.to(dtype)
        infinite = int(rounded.isinf().sum() - tensor.isinf().sum())
        zero = int(tensor.count_nonzero() - rounded.count_nonzero())
        self.num_infinite, self.num_zero = self.num_infinite + infinite, self.num_zero + zero
        if infinite and self._allowed != "any" or zero and self._allowed == "refuse":
            self._where = self._where or f"{name} ({str(dtype).removeprefix('torch.')})"
        return rounded

    def check(self, what: str, advice: str) -> None:
        """`UserError` about `what`, if numbers were lost that may not be."""
        if self._where:
            raise UserError(f"{what}: {self.said()}, first in {self._where}; {advice}")

    def said(self) -> str:
        """How many numbers were lost, in words."""
        return f"{self.num_infinite:,} numbers become infinite and {self.num_zero:,} become zero"
