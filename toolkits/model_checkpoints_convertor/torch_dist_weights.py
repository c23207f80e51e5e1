"""megatron-core's `torch_dist` checkpoints, read and written tensor by tensor without importing Megatron.

The format is PyTorch's distributed checkpoint: `.metadata` (a pickle) says which chunk of which tensor lies where,
`*.distcp` files are chunks one after the other, each as `torch.save` writes it. Megatron adds `metadata.json` and
`common.pt`.
PyTorch's own `FileSystemWriter` keeps every tensor it has written until the last; hence a writer here.
"""

import contextlib
import dataclasses
import math
import pickle
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import metadata as dcp
from torch.distributed.checkpoint.filesystem import _StorageInfo  # pyright: ignore[reportPrivateUsage]  # what its files hold

from common.errors import UserError
from common.files import write_json
from models.checkpoint.mover import Mover
from models.checkpoint.row_moves import Move
from models.checkpoint.stored_tensor import StoredTensor
from models.checkpoint.torch_archive import read_archive
from models.checkpoint.torch_dist_metadata import METADATA_FILE, read_metadata

_FILE_BYTES = 5_000_000_000
_FORMAT = {
    "sharded_backend": "torch_dist",
    "sharded_backend_version": 1,
    "common_backend": "torch",
    "common_backend_version": 1,
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One tensor of a checkpoint, or one layer of a tensor whose first axis is layers."""

    key: str
    tensor: torch.Tensor
    """Of this shape and type; a meta tensor."""
    layer: int | None = None
    num_layers: int = 1

    @property
    def size(self) -> torch.Size:
        """The whole tensor's."""
        return torch.Size((self.num_layers, *self.tensor.shape) if self.layer is not None else self.tensor.shape)

    @property
    def chunk(self) -> dcp.ChunkStorageMetadata:
        """Its place in the whole tensor."""
        zeros = (0,) * self.tensor.dim()
        if self.layer is None:
            return dcp.ChunkStorageMetadata(torch.Size(zeros), self.tensor.shape)
        return dcp.ChunkStorageMetadata(torch.Size((self.layer, *zeros)), torch.Size((1, *self.tensor.shape)))


class TorchDistWriter:
    """Writes entries one at a time; a context manager that makes the checkpoint complete at its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tensors: dict[str, dcp.TensorStorageMetadata] = {}
        self._places: dict[dcp.MetadataIndex, _StorageInfo] = {}
        self._num_files = 0
        self._file: Any = None

    def __enter__(self) -> "TorchDistWriter":
        self._open = contextlib.ExitStack()
        # a checksum of every byte is a third of the time, and neither torch.load nor Megatron looks at it
        self._open.callback(torch.serialization.set_crc32_options, torch.serialization.get_crc32_options())
        torch.serialization.set_crc32_options(False)
        self._files = self._open.enter_context(contextlib.ExitStack())
        self._mover = self._open.enter_context(Mover())  # ends before the files are closed
        return self

    def write(self, entry: Entry, content: torch.Tensor | list[Move]) -> None:
        """Append `entry`'s tensor, given itself or as the moves that make it."""
        chunk = entry.chunk
        file = self._file_with_room()
        offset = file.tell()
        if isinstance(content, torch.Tensor):
            assert (content.shape, content.dtype) == (entry.tensor.shape, entry.tensor.dtype), entry.key
            torch.save(content.contiguous().view(chunk.sizes), file)
        else:
            self._move(entry, content, file)
        index = dcp.MetadataIndex(entry.key, chunk.offsets)
        self._places[index] = _StorageInfo(Path(file.name).name, offset, file.tell() - offset)
        properties = dcp.TensorProperties(dtype=entry.tensor.dtype)
        whole = dcp.TensorStorageMetadata(properties, entry.size, [])
        self._tensors.setdefault(entry.key, whole).chunks.append(chunk)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._open.__exit__(kind, *rest)
        if kind is None:
            torch.save({}, self._folder / "common.pt")
            metadata = dcp.Metadata({**self._tensors}, storage_data=self._places)
            (self._folder / METADATA_FILE).write_bytes(pickle.dumps(metadata))
            write_json(self._folder / "metadata.json", _FORMAT, indent=None)

    def _move(self, entry: Entry, content: list[Move], file: Any) -> None:
        """A file of torch.save with a hole, of memory that is never touched; then the bytes into the hole."""
        assert sum(move.nbytes for move in content) == entry.tensor.nbytes, entry.key
        start = file.tell()
        with torch.serialization.skip_data():
            torch.save(torch.empty(entry.chunk.sizes, dtype=entry.tensor.dtype), file)
        hole = read_archive(Path(file.name), start, file.tell() - start)
        self._mover.move(content, file.fileno(), hole.offset)

    def _file_with_room(self) -> Any:
        if self._file is None or self._file.tell() >= _FILE_BYTES:
            path = self._folder / f"__0_{self._num_files}.distcp"
            self._file = self._files.enter_context(open(path, "wb", buffering=0))  # noqa: SIM115 - by the stack
            self._num_files += 1
        return self._file


class TorchDistReader:
    """The tensors of a checkpoint by key, however they were cut when they were saved."""

    def __init__(self, folder: Path) -> None:
        """`UserError` when `.metadata` is missing, damaged or asks for anything but metadata."""
        self.folder = folder
        metadata = read_metadata(folder)
        try:
            self._read(metadata)
        except UserError as error:
            raise UserError(f"{folder / METADATA_FILE}: {error}") from None
        except (AttributeError, TypeError, ValueError, KeyError, RuntimeError):  # the last: impossible shapes
            raise UserError(f"{folder / METADATA_FILE}: not the metadata of a torch_dist checkpoint") from None

    def _read(self, metadata: Any) -> None:
        places = {(index.fqn, tuple(index.offset or ())): info for index, info in metadata.storage_data.items()}
        self._chunks: dict[str, list[_Chunk]] = {}
        self._tensors: dict[str, torch.Tensor] = {}
        for key, entry in metadata.state_dict_metadata.items():
            if not hasattr(entry, "chunks"):
                continue  # an object, such as a random state
            tensor = torch.empty(tuple(entry.size), dtype=entry.properties.dtype, device="meta")
            chunks = [_Chunk.of(self.folder, places[key, tuple(c.offsets)], c.offsets, c.sizes) for c in entry.chunks]
            if sum(math.prod(chunk.size) for chunk in chunks) != tensor.numel():
                raise UserError(f"the chunks of {key} do not make up its shape {tuple(tensor.shape)}")
            self._tensors[key], self._chunks[key] = tensor, chunks

    def keys(self) -> list[str]:
        """Of all tensors, an optimizer's too."""
        return list(self._tensors)

    def meta(self, key: str, layer: int | None = None) -> torch.Tensor:
        """Shape and type of a tensor or of one layer of it; `UserError` when there is none."""
        if key not in self._tensors:
            raise UserError(f"{self.folder}: has no {key}; is it another model?")
        tensor = self._tensors[key]
        if layer is not None and (tensor.dim() == 0 or layer >= tensor.size(0)):
            raise UserError(f"{self.folder}: {key} has shape {tuple(tensor.shape)} and no layer {layer}")
        return tensor if layer is None else tensor[layer]

    def place(self, key: str, layer: int | None = None) -> StoredTensor | None:
        """Where a tensor, or one layer of it, lies whole in a file; None when it lies in pieces."""
        wanted = self.meta(key, layer)
        offset, size = _region(wanted, layer)
        for chunk in self._chunks[key]:
            if (chunk.offset, chunk.size) == (offset, size):
                stored = chunk.stored(wanted.dtype, key)
                return dataclasses.replace(stored, shape=tuple(wanted.shape)) if stored.stride is None else None
        return None

    def read(self, key: str, layer: int | None = None) -> torch.Tensor:
        """A tensor, or one layer of it."""
        wanted = self.meta(key, layer)
        offset, size = _region(wanted, layer)
        result: torch.Tensor | None = None
        for chunk in self._chunks[key]:
            overlap = _overlap(offset, size, chunk)
            if overlap is None:
                continue
            there, here = overlap
            content = chunk.stored(wanted.dtype, key).read()
            if chunk.size == size:
                return content.view(wanted.shape)
            if result is None:
                result = torch.empty(size, dtype=wanted.dtype)
            result[there] = content[here]
        if result is None:
            raise UserError(f"{self.folder}: no chunk of {key} holds layer {layer}")
        return result.view(wanted.shape)


@dataclasses.dataclass(frozen=True)
class _Chunk:
    path: Path
    start: int
    length: int
    offset: tuple[int, ...]
    size: tuple[int, ...]

    @staticmethod
    def of(folder: Path, info: Any, offset: tuple[int, ...], size: tuple[int, ...]) -> "_Chunk":
        """`UserError` when its place is outside the checkpoint."""
        name, numbers = info.relative_path, (info.offset, info.length, *offset, *size)
        is_file_name = name not in ("", "..") and "\0" not in name and Path(name).name == name
        if not is_file_name or not all(type(number) is int and number >= 0 for number in numbers):
            raise UserError(f"{folder}: its metadata names the impossible place {name!r}")
        if getattr(info, "transform_descriptors", None):
            raise UserError(f"{folder}: its chunks are compressed or encrypted, which is not supported")
        return _Chunk(folder / name, info.offset, info.length, tuple(offset), tuple(size))

    def stored(self, dtype: torch.dtype, key: str) -> StoredTensor:
        """Its place; `UserError` when something else lies there."""
        stored = read_archive(self.path, self.start, self.length)
        if not isinstance(stored, StoredTensor) or (stored.shape, stored.dtype) != (self.size, dtype):
            raise UserError(f"{self.path}: the chunk of {key} at byte {self.start} is not what the metadata says")
        if stored.offset + stored.nbytes > self.start + self.length:
            raise UserError(f"{self.path}: ends before the chunk of {key} at byte {self.start} does")
        return stored


def _region(wanted: torch.Tensor, layer: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(offset, size) of a tensor, or of one layer of it, in the whole tensor."""
    zeros = (0,) * wanted.dim()
    return (zeros, tuple(wanted.shape)) if layer is None else ((layer, *zeros), (1, *wanted.shape))


def _overlap(
    offset: tuple[int, ...], size: tuple[int, ...], chunk: _Chunk
) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """Where a chunk lies in the region (offset, size), and the region in the chunk; None when they don't meet."""
    begin = [max(a, b) for a, b in zip(offset, chunk.offset, strict=True)]
    end = [min(a + n, b + m) for a, n, b, m in zip(offset, size, chunk.offset, chunk.size, strict=True)]
    if any(first >= last for first, last in zip(begin, end, strict=True)):
        return None
    there = tuple(slice(b - o, e - o) for b, e, o in zip(begin, end, offset, strict=True))
    here = tuple(slice(b - o, e - o) for b, e, o in zip(begin, end, chunk.offset, strict=True))
    return there, here
