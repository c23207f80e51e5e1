"""A tensor that still lies in its file: known by place, shape and type, read when it is wanted.

Plain reads instead of a memory map: pages of a map count as this process's memory until the system takes them back.
"""

import dataclasses
import math
import os
from pathlib import Path

import torch

from common.errors import UserError
from common.safe_pickle import refuse_state


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """`shape` of `dtype` at byte `offset` of `path`; row after row unless `stride`, in elements, says otherwise."""

    path: Path
    offset: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...] | None = None

    __setstate__ = refuse_state

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor itself."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> torch.Tensor:
        """The tensor in memory of its own; `UserError` when the file ends before it."""
        if self.stride is None or math.prod(self.shape) == 0:
            return _read(self.path, self.offset, math.prod(self.shape), self.dtype).view(self.shape)
        span = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.stride, strict=True))
        return _read(self.path, self.offset, span, self.dtype).as_strided(self.shape, self.stride).contiguous()


def meta(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor without values, to ask an operation for the shape of its result."""
    return torch.empty(shape, dtype=dtype, device="meta")


def raw_bytes(tensor: torch.Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor."""
    return tensor.view(-1).view(torch.uint8).numpy().data


def write_at(descriptor: int, offset: int, tensor: torch.Tensor) -> None:
    """Put a tensor's bytes at `offset` of an open file."""
    left = raw_bytes(tensor.contiguous())
    while left:
        written = os.pwrite(descriptor, left, offset)
        left, offset = left[written:], offset + written


def _read(path: Path, offset: int, num_elements: int, dtype: torch.dtype) -> torch.Tensor:
    if offset < 0 or offset + num_elements * dtype.itemsize > path.stat().st_size:
        raise UserError(f"{path}: ends before the tensor at byte {offset}; the file is cut or its header is wrong")
    tensor = torch.empty(num_elements, dtype=dtype)
    left = raw_bytes(tensor) if num_elements else memoryview(b"")
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        while left:
            num_read = file.readinto(left)
            if not num_read:
                raise UserError(f"{path}: cut while it was read")
            left = left[num_read:]
    return tensor
