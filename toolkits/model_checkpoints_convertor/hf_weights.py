"""Weights of a Hugging Face folder: safetensors files, read by tensor name and written in files of bounded size."""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from data.errors import UserError
from data.files import write_json
from training.models.weight_table import find_spelling


class HfReader:
    """Tensors by name, memory-mapped."""

    def __init__(self, folder: Path, spellings: Callable[[str], Iterator[str]]) -> None:
        """`spellings`: the names a tensor has had over the versions of transformers."""
        self.folder, self.spellings = folder, spellings
        paths = sorted(Path(folder).glob("*.safetensors"))
        if not paths:
            raise UserError(f"{folder}: no *.safetensors here; --load_path must be a Hugging Face checkpoint folder")
        files = [safe_open(path, framework="pt") for path in paths]
        self._files = {name: file for file in files for name in file.keys()}  # noqa: SIM118 (not a dict)

    def read(self, name: str) -> torch.Tensor:
        """`UserError` when the checkpoint has no tensor `name`."""
        found = find_spelling(name, self.spellings, self._files)
        if found is None:
            raise UserError(f"{self.folder}: has no tensor {name}; is it another model?")
        return self._files[found].get_tensor(found)


class HfWriter:
    """Files of at most `max_bytes`, and their index when there are several."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._pending: dict[str, torch.Tensor] = {}
        self._pending_bytes = self._total_bytes = 0
        self._written: list[list[str]] = []

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Queue one tensor; a full file is written."""
        if self._pending and self._pending_bytes + tensor.nbytes > self.max_bytes:
            self._flush()
        self._pending[name] = tensor
        self._pending_bytes += tensor.nbytes
        self._total_bytes += tensor.nbytes

    def close(self) -> None:
        """Write the rest and give the files their names, which count them."""
        self._flush()
        count = len(self._written)
        index: dict[str, str] = {}
        for number, names in enumerate(self._written, start=1):
            name = "model.safetensors" if count == 1 else f"model-{number:05d}-of-{count:05d}.safetensors"
            self._part(number).rename(self.folder / name)
            index |= dict.fromkeys(names, name)
        if count > 1:
            content = {"metadata": {"total_size": self._total_bytes}, "weight_map": index}
            write_json(self.folder / "model.safetensors.index.json", content)

    def _flush(self) -> None:
        self._written.append(list(self._pending))
        save_file(self._pending, self._part(len(self._written)), metadata={"format": "pt"})
        self._pending, self._pending_bytes = {}, 0

    def _part(self, number: int) -> Path:
        return self.folder / f"part{number}"
