"""Hugging Face weights are written: safetensors files of bounded size, one tensor in memory at a time."""

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import torch

from common.files import write_json
from models.checkpoint.mover import Mover
from models.checkpoint.row_moves import Move
from models.checkpoint.safetensors_file import CODES
from models.checkpoint.stored_tensor import write_at


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
        entries[name] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        position = place[1]
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
