"""A checkpoint of any format as one thing: the model's tensors by their Hugging Face names, read one at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from common.errors import UserError
from models.checkpoint.hf_folder import read_hf_folder
from models.checkpoint.row_moves import Move, moves, whole
from models.checkpoint.stored_tensor import meta
from models.family import Family
from models.registry import family
from models.weight_table import Weight, value_heads_in
from toolkits.model_checkpoints_convertor.torch_dist_weights import TorchDistReader


class Source(Protocol):
    """A checkpoint to convert from."""

    family: Family
    config: Any
    """The Hugging Face configuration, agreeing with the tensors."""
    hf_files: Path
    """Folder of configuration, tokenizer and processor."""

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type of a tensor of the model's weight table; `UserError` when it is missing."""
        ...

    def read(self, name: str) -> torch.Tensor:
        """The tensor itself."""
        ...

    def moves(self, name: str) -> list[Move] | None:
        """Where its bytes lie in files; None when it has to be computed."""


class HfSource:
    """A Hugging Face folder."""

    def __init__(self, folder: Path) -> None:
        """`UserError`: as `read_hf_folder`."""
        found = read_hf_folder(folder)
        self.hf_files, self.family, self.config = folder, found.family, found.config
        self._stored = found.stored

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        return meta(self._stored[name].shape, self._stored[name].dtype)

    def read(self, name: str) -> torch.Tensor:
        """The tensor itself."""
        return self._stored[name].read()

    def moves(self, name: str) -> list[Move] | None:
        """Where its bytes lie."""
        return whole(self._stored[name])


class SplittingSource:
    """Joined tensors of a Megatron checkpoint, given out in the parts that Hugging Face has.

    The parts of one joined tensor are read together and kept until the next: ask in the table's order.
    """

    config: Any

    def __init__(self, table: Sequence[Any]) -> None:
        """Of `table`, each weight has `hf` names and a `split`."""
        self._weight_of = {name: weight for weight in table for name in weight.hf}
        self._current: tuple[Any, dict[str, torch.Tensor]] = (None, {})

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        weight = self._weight_of[name]
        return self._parts(weight, self.joined_meta(weight))[name]

    def read(self, name: str) -> torch.Tensor:
        """The tensor itself."""
        weight = self._weight_of[name]
        if self._current[0] is not weight:
            self._current = (weight, self._parts(weight, self.joined(weight)))
        return self._current[1].pop(name)

    def moves(self, name: str) -> list[Move] | None:
        """None: its bytes lie in several files, or between others'."""
        return None

    def joined_meta(self, weight: Any) -> torch.Tensor:
        """Shape and type of the joined tensor."""
        raise NotImplementedError

    def joined(self, weight: Any) -> torch.Tensor:
        """The joined tensor."""
        raise NotImplementedError

    def _parts(self, weight: Any, tensor: torch.Tensor) -> dict[str, torch.Tensor]:
        try:
            return dict(zip(weight.hf, weight.split(tensor, self.config), strict=True))
        except (RuntimeError, ValueError):
            shape = tuple(tensor.shape)
            raise UserError(
                f"{weight.hf[0]}: its Megatron tensor has shape {shape}, which config.json forbids"
            ) from None


class TorchDistParts(SplittingSource):
    """Tensors of a `torch_dist` iteration."""

    def __init__(self, reader: TorchDistReader, table: Sequence[Weight], config: Any) -> None:
        super().__init__(table)
        self.reader, self.config = reader, config

    def joined_meta(self, weight: Weight) -> torch.Tensor:
        """Shape and type of the joined tensor."""
        return self.reader.meta(weight.megatron, weight.layer)

    def joined(self, weight: Weight) -> torch.Tensor:
        """The joined tensor."""
        return self.reader.read(weight.megatron, weight.layer)


def _read_policy(weights: Path) -> TorchDistReader:
    """`UserError` for a critic's checkpoint: its language model makes no replies any more."""
    reader = TorchDistReader(weights)
    if heads := value_heads_in(reader.keys()):
        raise UserError(f"{weights}: is a critic ({', '.join(heads)}), not a policy; give the policy's checkpoint")
    return reader


class TorchDistSource(TorchDistParts):
    """A `torch_dist` checkpoint, converted or trained."""

    def __init__(self, weights: Path, hf_files: Path) -> None:
        """`UserError`: it lacks a tensor or has another number of layers."""
        self.weights, self.hf_files, self.family = weights, hf_files, family(hf_files)
        config = self.family.read_config(hf_files)
        table = self.family.weight_table(config)
        super().__init__(_read_policy(weights), table, config)
        self._moves: tuple[Any, dict[str, list[Move]]] = (None, {})
        num_layers = config.get_text_config().num_hidden_layers
        for weight in table:
            whole = self.reader.meta(weight.megatron)
            if weight.layer is not None and whole.size(0) != num_layers:
                raise UserError(f"{weights}: has {whole.size(0)} layers, its config.json says {num_layers}")

    def moves(self, name: str) -> list[Move] | None:
        """Where its rows lie in the joined tensor's file, if that is whole in one."""
        weight = self._weight_of[name]
        if self._moves[0] is not weight:
            stored = self.reader.place(weight.megatron, weight.layer)
            split = (lambda parts, config: weight.split(parts[0], config)) if stored else None
            found = moves(split, [stored], self.config) if split and stored else None
            self._moves = (weight, dict(zip(weight.hf, found, strict=True)) if found else {})
        return self._moves[1].get(name)


class OverlaidSource:
    """A base, but for what an iteration of adapters holds besides them: what was not frozen in their training."""

    def __init__(self, base: Source, weights: Path) -> None:
        self.weights, self.hf_files, self.family, self.config = weights, base.hf_files, base.family, base.config
        reader = _read_policy(weights)
        stored = set(reader.keys())
        table = [weight for weight in base.family.weight_table(base.config) if weight.megatron in stored]
        self.trained = [name for weight in table for name in weight.hf]
        own = TorchDistParts(reader, table, base.config)
        self._side_of: dict[str, Source | TorchDistParts] = dict.fromkeys(self.trained, own)
        self._base = base

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        return self._side_of.get(name, self._base).meta(name)

    def read(self, name: str) -> torch.Tensor:
        """The tensor itself."""
        return self._side_of.get(name, self._base).read(name)

    def moves(self, name: str) -> list[Move] | None:
        """Where its bytes lie in the base's files."""
        return self._side_of.get(name, self._base).moves(name)
