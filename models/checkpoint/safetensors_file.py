"""A safetensors file, opened without reading a tensor: its header against itself and the file's size."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from models.checkpoint.stored_tensor import StoredTensor

_MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors format."""
_LFS_POINTER = b"version "
"""How the text begins that lies in a file's place until Git LFS has fetched it."""
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "U16": torch.uint16,
    "U32": torch.uint32,
    "U64": torch.uint64,
    "C64": torch.complex64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
}
CODES = {dtype: code for code, dtype in _DTYPES.items()}


def open_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors that a safetensors file's header promises, checked against each other and the file's size."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            if start == _LFS_POINTER:
                raise UserError(f"{path}: a pointer of Git LFS, not the weights; fetch them: git lfs pull")
            header_bytes = int.from_bytes(start, "little")
            if not 2 <= header_bytes <= min(_MAX_HEADER_BYTES, size - 8):
                raise ValueError(f"its header claims {header_bytes} bytes of {size}")
            header = json.loads(file.read(header_bytes), object_pairs_hook=_without_duplicates)
        start = 8 + header_bytes
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        tensors = {name: _stored(path, name, entry, start) for name, entry in entries.items()}
        _check_cover(tensors.values(), start, size)
    except UserError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a readable safetensors file ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return tensors


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name occurs twice in its header")
    return content


def _stored(path: Path, name: str, entry: dict[str, Any], start: int) -> StoredTensor:
    shape, (begin, end) = entry["shape"], entry["data_offsets"]
    if entry["dtype"] not in _DTYPES:
        raise ValueError(f"{name} has the unknown type {entry['dtype']!r}")
    numbers = [*shape, begin, end]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{name} has an impossible shape or place")
    tensor = StoredTensor(path, start + begin, _DTYPES[entry["dtype"]], tuple(shape))
    if tensor.nbytes != end - begin:
        raise ValueError(f"{name} has {end - begin} bytes for the shape {shape}")
    return tensor


def _check_cover(tensors: Iterable[StoredTensor], start: int, size: int) -> None:
    """The format wants every byte to belong to one tensor: a hole or an overlap is a damaged or hostile header."""
    position = start
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, tensor.nbytes)):
        if tensor.offset != position:
            raise ValueError(f"its tensors overlap or leave a hole at byte {position}")
        position += tensor.nbytes
    if position != size:
        raise ValueError(f"it has {size} bytes, its header promises {position}")
