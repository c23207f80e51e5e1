"""Files written by `torch.save`, opened safely and without reading their tensors.

Such a file is a zip archive that nothing in it compresses: `data.pkl` names the tensors, `data/<key>` are their bytes.
Reading follows the format of PyTorch 1.6 and later.
"""

import dataclasses
import io
import math
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.safe_pickle import STORAGES, ZIP_DAMAGE, refuse_state
from models.checkpoint import safe_pickle
from models.checkpoint.safe_pickle import Ignored
from models.checkpoint.stored_tensor import StoredTensor

_MAX_PICKLE_BYTES = 512 * 1024**2
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")

DTYPES = tuple(STORAGES.values())
"""Names of torch's types that a checkpoint may hold."""
_WITHOUT_WEIGHTS = (
    ("_codecs", "encode"),
    ("_io", "BytesIO"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("megatron.core.enums", "ModelType"),
    ("megatron.core.transformer.enums", "AttnBackend"),
    ("megatron.core.transformer.enums", "AttnMaskType"),
    ("megatron.model.enums", "ModelType"),
    ("torch.random", "Generator"),
    ("torch", "device"),
)
"""Random states, fp8 states and enumerations, which stand beside the weights in Megatron's checkpoints."""


@dataclasses.dataclass(frozen=True)
class _Storage:
    path: Path
    offset: int
    num_bytes: int
    dtype: torch.dtype

    __setstate__ = refuse_state


def read_archive(path: Path, start: int = 0, length: int | None = None) -> Any:
    """What was saved in bytes [start, start + length) of `path`, with a `StoredTensor` in place of each tensor.

    Raises:
        UserError: it is no such file, is cut, or asks for anything that a checkpoint does not need.
    """
    try:
        with open(path, "rb") as file:
            window = _Window(file, start, path.stat().st_size - start if length is None else length)
            if window.read(2) != b"PK":
                raise UserError("not a file of torch.save (PyTorch 1.6 or later); load it and save it again")
            return _Archive(path, start, window).load()
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except ZIP_DAMAGE as error:
        raise UserError(f"{path}: not a readable file of torch.save ({error or type(error).__name__})") from None


class _Archive:
    def __init__(self, path: Path, start: int, window: "_Window") -> None:
        self._path, self._start, self._window = path, start, window
        self._zip = zipfile.ZipFile(window)
        self._records = {info.filename.partition("/")[2]: info for info in self._zip.infolist()}

    def load(self) -> Any:
        if "data.pkl" not in self._records:
            raise UserError("has no data.pkl; it is a zip file, but not one of torch.save")
        if "byteorder" in self._records and self._content("byteorder") != b"little":
            raise UserError("was written on a big-endian machine; save it again on a little-endian one")
        return safe_pickle.load(self._content("data.pkl"), _names(), self._storage)

    def _content(self, name: str) -> bytes:
        """A small record, without its checksum: torch.save can leave that out, and torch.load never looks at it."""
        info = self._records[name]
        if info.file_size > _MAX_PICKLE_BYTES:
            raise UserError(f"{name} of {info.file_size} bytes is no checkpoint's")
        self._window.seek(self._offset(info))
        return self._window.read(info.file_size)

    def _offset(self, info: zipfile.ZipInfo) -> int:
        """Where a record's bytes start, in the window."""
        if info.compress_type != zipfile.ZIP_STORED:
            raise UserError("is compressed; load it and save it again")
        self._window.seek(info.header_offset)
        fields = _LOCAL_HEADER.unpack(self._window.read(_LOCAL_HEADER.size))
        return info.header_offset + _LOCAL_HEADER.size + fields[-2] + fields[-1]

    def _storage(self, pid: Any) -> _Storage:
        kind, dtype, key, _, numel = pid
        if kind != "storage" or not isinstance(dtype, torch.dtype) or f"data/{key}" not in self._records:
            raise pickle.UnpicklingError("unknown reference")
        info = self._records[f"data/{key}"]
        if not isinstance(numel, int) or not 0 <= numel * dtype.itemsize <= info.file_size:
            raise UserError("a tensor is larger than its bytes; the file is damaged")
        offset = self._offset(info)
        if offset + info.file_size > self._window.length:  # a size that is only claimed would bound nothing
            raise UserError("is cut, or damaged: a tensor's bytes end after the file")
        return _Storage(self._path, self._start + offset, info.file_size, dtype)


def _names() -> safe_pickle.Names:
    return {
        **safe_pickle.PLAIN,
        **dict.fromkeys(_WITHOUT_WEIGHTS, Ignored),
        **{("torch", name): getattr(torch, dtype) for name, dtype in STORAGES.items()},
        **{("torch", name): getattr(torch, name) for name in DTYPES},
        ("torch", "Size"): tuple,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    }


def _rebuild_tensor(storage: Any, first: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    if not isinstance(storage, _Storage):  # a look-alike could name any file of this machine
        raise UserError("refused, a tensor of its pickle lies in no storage of this file")
    numbers = (first, *shape, *stride)
    if len(shape) != len(stride) or not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise UserError(f"a tensor has the impossible shape {shape}")
    last = first + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if math.prod(shape) and max(last + 1, math.prod(shape)) * storage.dtype.itemsize > storage.num_bytes:
        raise UserError(f"a tensor of shape {shape} is larger than its bytes; the file is damaged")
    offset = storage.offset + first * storage.dtype.itemsize
    return StoredTensor(storage.path, offset, storage.dtype, tuple(shape), _unless_contiguous(shape, stride))


def _rebuild_parameter(tensor: Any, *_: Any) -> Any:
    return tensor


def _unless_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...] | None:
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != expected:
            return tuple(stride)
        expected *= size
    return None


class _Window(io.RawIOBase):
    """A part of an open file as a file of its own."""

    def __init__(self, file: Any, start: int, length: int) -> None:
        self._file, self._start, self.length, self._position = file, start, length, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.length}[whence]
        if self._position < 0:
            raise OSError("cut")
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self.length - self._position)
        self._file.seek(self._start + self._position)
        content = self._file.read(left if size is None or size < 0 else min(size, left))
        self._position += len(content)
        return content
