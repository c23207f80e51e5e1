"""Weights of a Hugging Face folder: safetensors or old `.bin` files, one or many, opened without reading a tensor;
written as safetensors files of bounded size, one tensor in memory at a time.
"""

import contextlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import read_json, write_json
from toolkits.model_checkpoints_convertor.mover import Mover
from toolkits.model_checkpoints_convertor.row_moves import Move
from toolkits.model_checkpoints_convertor.stored_tensor import StoredTensor, write_at
from toolkits.model_checkpoints_convertor.torch_archive import read_archive

_MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors format."""
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
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


def open_hf_folder(folder: Path) -> dict[str, StoredTensor]:
    """Every tensor of a checkpoint by name, from `model.safetensors`, its sharded form, or `pytorch_model*.bin`.

    Raises:
        UserError: no weights, a file that its index names is missing, or a file is damaged.
    """
    for single, many in (("model.safetensors", "model*.safetensors"), ("pytorch_model.bin", "pytorch_model*.bin")):
        index = folder / f"{single}.index.json"
        if index.exists():
            return _open_indexed(folder, index)
        paths = [folder / single] if (folder / single).exists() else sorted(folder.glob(many))
        if paths:
            return {name: tensor for path in paths for name, tensor in open_file(path).items()}
    raise UserError(
        f"{folder}: no model*.safetensors or pytorch_model*.bin here; this must be a Hugging Face checkpoint"
    )


def open_file(path: Path) -> dict[str, StoredTensor]:
    """The tensors of one safetensors or `.bin` file."""
    if path.suffix == ".safetensors":
        return open_safetensors(path)
    content = read_archive(path)
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UserError(f"{path}: not a file of named tensors")
    return {name: tensor for name, tensor in content.items() if isinstance(tensor, StoredTensor)}


def open_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors that a safetensors file's header promises, checked against each other and the file's size."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header_bytes = int.from_bytes(file.read(8), "little")
            if not 2 <= header_bytes <= min(_MAX_HEADER_BYTES, size - 8):
                raise ValueError(f"its header claims {header_bytes} bytes of {size}")
            header = json.loads(file.read(header_bytes), object_pairs_hook=_without_duplicates)
        start = 8 + header_bytes
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        tensors = {name: _stored(path, name, entry, start) for name, entry in entries.items()}
        _check_cover(tensors.values(), start, size)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not a readable safetensors file ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return tensors


def _open_indexed(folder: Path, index: Path) -> dict[str, StoredTensor]:
    content = read_json(index)
    files = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise UserError(f"{index}: has no weight_map of names to files")
    opened = {}
    for name in sorted(set(files.values())):
        if Path(name).name != name or not (folder / name).is_file():
            raise UserError(f"{index}: names the file {name!r}, which is not in this folder")
        opened[name] = open_file(folder / name)
    for tensor, name in files.items():
        if tensor not in opened[name]:
            raise UserError(f"{index}: says that {name} has {tensor}, but it has not")
    return {tensor: opened[name][tensor] for tensor, name in files.items()}


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


class SafetensorsWriter:
    """Writes tensors that are announced with their sizes, then given one at a time in that order.

    A context manager; makes `model.safetensors`, or of more than `max_bytes` several files and their index.
    """

    def __init__(self, folder: Path, announced: list[tuple[str, torch.Tensor]], max_bytes: int) -> None:
        """`announced` are (name, meta tensor of its shape and type)."""
        self._folder = folder
        self._files = _distribute(announced, max_bytes)
        self._index: dict[str, str] = {}
        self._places: dict[str, tuple[int, int, torch.Tensor]] = {}
        self._total_bytes = sum(tensor.nbytes for _, tensor in announced)

    def __enter__(self) -> "SafetensorsWriter":
        self._open = contextlib.ExitStack()
        for number, tensors in enumerate(self._files, start=1):
            count = len(self._files)
            name = "model.safetensors" if count == 1 else f"model-{number:05d}-of-{count:05d}.safetensors"
            file = self._open.enter_context(open(self._folder / name, "wb", buffering=0))
            header = _header(tensors)
            file.write(header)
            position = len(header)
            for key, tensor in tensors:
                self._places[key] = (file.fileno(), position, tensor)
                self._index[key] = name
                position += tensor.nbytes
        self._mover = self._open.enter_context(Mover())  # ends before the files are closed
        return self

    def write(self, name: str, content: torch.Tensor | list[Move]) -> None:
        """Write one announced tensor, given itself or as the moves that make it."""
        descriptor, offset, expected = self._places.pop(name)
        if isinstance(content, torch.Tensor):
            assert (content.shape, content.dtype) == (expected.shape, expected.dtype), name
            write_at(descriptor, offset, content)
        else:
            assert sum(move.nbytes for move in content) == expected.nbytes, name
            self._mover.move(content, descriptor, offset)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._open.__exit__(kind, *rest)
        if kind is None:
            assert not self._places, f"announced, but not written: {list(self._places)}"
            if len(self._files) > 1:
                content = {"metadata": {"total_size": self._total_bytes}, "weight_map": self._index}
                write_json(self._folder / "model.safetensors.index.json", content)


def _distribute(announced: list[tuple[str, torch.Tensor]], max_bytes: int) -> list[list[tuple[str, torch.Tensor]]]:
    files: list[list[tuple[str, torch.Tensor]]] = [[]]
    num_bytes = 0
    for name, tensor in announced:
        if files[-1] and num_bytes + tensor.nbytes > max_bytes:
            files.append([])
            num_bytes = 0
        files[-1].append((name, tensor))
        num_bytes += tensor.nbytes
    return files


def _header(tensors: list[tuple[str, torch.Tensor]]) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for name, tensor in tensors:
        place = [position, position + math.prod(tensor.shape) * tensor.dtype.itemsize]
        entries[name] = {"dtype": _CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        position = place[1]
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
