"""OpenWebVoyager's Megatron checkpoints, `mp_rank_XX/model_optim_rng.pt`, read at any tensor-parallel size and written.

<folder>/latest_checkpointed_iteration.txt           "release" or an iteration number
<folder>/release/ or iter_0000300/mp_rank_00[_000]/  one folder a rank; `distrib_optim.pt` beside it is not read

Only pipeline-parallel size 1 exists of them. They have extra rows below the vocabulary (125 for idefics2: random, then
trained), for which Hugging Face's form has no place: `EXTRA_ROWS_FILE` keeps them, so that the way back is exact.
"""

import contextlib
import copy
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from common.errors import UserError
from data.checkpoint_folder import RELEASE, iteration_name, read_tracker
from models.checkpoint.narrowing import Narrowing
from models.checkpoint.output_folder import require_space
from models.checkpoint.safetensors_file import open_safetensors
from models.checkpoint.stored_tensor import StoredTensor, meta, write_at
from models.checkpoint.torch_archive import read_archive
from models.family import Family
from models.legacy_layout import LegacyWeight, cut, uncut
from models.registry import NAMES, family, named
from toolkits.model_checkpoints_convertor.destinations import in_background
from toolkits.model_checkpoints_convertor.sources import Source, SplittingSource

EXTRA_ROWS_FILE = "legacy_extra_rows.safetensors"
_RANK = re.compile(r"mp_rank_(\d\d)(_000)?")
_WEIGHTS_FILE = "model_optim_rng.pt"
_VOCABULARY_DIVISOR = 128
_NESTED = ("word_embeddings", "output_layer", "lm_head", "word_embeddings_for_head")
"""Modules with a dictionary of their own; the keys of all others are flat below the language model's parts."""


def find_legacy_weights(folder: Path) -> tuple[Path, Path] | None:
    """(folder of the ranks, folder of the Hugging Face files) of such a checkpoint or one iteration of it."""
    latest = read_tracker(folder) or RELEASE
    name = iteration_name(int(latest)) if latest.isdigit() else latest
    for weights in (folder, folder / name):
        if any(weights.glob("mp_rank_*")):
            return weights, folder.parent if weights == folder else folder
    return None


class LegacySource(SplittingSource):
    """A checkpoint of any tensor-parallel size."""

    def __init__(self, weights: Path, hf_files: Path) -> None:
        """`UserError`: a rank or a tensor is missing, or a file is damaged or hostile."""
        self.hf_files, self.family, self._folder = hf_files, family(hf_files), weights
        legacy = legacy_of(self.family, hf_files)
        self.vocabulary, self.config = legacy.VOCABULARY, copy.deepcopy(self.family.read_config(hf_files))
        self._table = [weight for weight in legacy.legacy_table(self.config) if not self._is_tied(weight)]
        super().__init__(self._table)
        self._ranks = open_ranks(weights)
        legacy.settle(self.config, self._table, self._whole, weights)

    def extra_rows(self) -> dict[str, torch.Tensor]:
        """The rows below the vocabulary, by Hugging Face name."""
        start = self.config.text_config.vocab_size
        vocabulary = [weight for weight in self._table if weight.hf[0] in self.vocabulary]
        return {weight.hf[0]: self._whole(weight)[start:].clone() for weight in vocabulary}

    def joined_meta(self, weight: LegacyWeight) -> torch.Tensor:
        """Shape and type of the whole tensor, without extra rows."""
        pieces = [meta(piece.shape, piece.dtype) for piece in self._pieces(weight)]
        return self._without_extra_rows(weight, uncut(pieces, weight.cut))

    def joined(self, weight: LegacyWeight) -> torch.Tensor:
        """The whole tensor, without extra rows."""
        return self._without_extra_rows(weight, self._whole(weight))

    def _is_tied(self, weight: LegacyWeight) -> bool:
        return bool(self.config.tie_word_embeddings) and weight.hf == self.vocabulary[1:]

    def _pieces(self, weight: LegacyWeight) -> list[StoredTensor]:
        """What each rank has of it."""
        pieces = []
        for rank in self._ranks[:1] if weight.cut == "copy" else self._ranks:
            found = [rank[name] for name in (weight.megatron, *weight.also) if name in rank]
            if not found:
                raise UserError(f"{self._folder}: a rank has no {weight.megatron}")
            pieces.append(found[0])
        return pieces

    def _whole(self, weight: LegacyWeight) -> torch.Tensor:
        return uncut([piece.read() for piece in self._pieces(weight)], weight.cut)

    def _without_extra_rows(self, weight: LegacyWeight, tensor: torch.Tensor) -> torch.Tensor:
        if weight.hf[0] not in self.vocabulary:
            return tensor
        vocab_size = self.config.text_config.vocab_size
        if tensor.size(0) < vocab_size:
            raise UserError(f"{self._folder}: has {tensor.size(0)} tokens, its config.json says {vocab_size}")
        return tensor[:vocab_size]


def legacy_of(kind: Family, hf_files: Path) -> Any:
    """The family's table (`models/legacy_layout.py`); `UserError` where no legacy checkpoints exist of it."""
    if kind.legacy is None:
        known = ", ".join(name for name in NAMES if named(name).legacy is not None)
        raise UserError(f"{hf_files}: legacy Megatron checkpoints exist of {known}, not of {kind.name}")
    return kind.legacy


def open_ranks(weights: Path) -> list[dict[str, StoredTensor]]:
    """Of every rank, its tensors by their names below `model`; `UserError` when one is missing or damaged."""
    paths = _rank_files(weights)
    return [_open_rank(path, len(paths)) for path in paths]


def write_legacy(
    source: Source,
    folder: Path,
    dtype: torch.dtype | None,
    tensor_parallel: int,
    num_extra_rows: int | None,
    narrowing: Narrowing,
) -> None:
    """`source` as the ranks of a release in the existing, empty `folder`.

    `num_extra_rows` None fills the vocabulary up to a multiple of 128, which for idefics2 are the published 125.
    """
    legacy = legacy_of(source.family, source.hf_files)
    legacy.check_tensor_parallel(source.config, tensor_parallel)
    table = legacy.legacy_table(source.config)
    extra_rows = _extra_rows(source, legacy.VOCABULARY, num_extra_rows)
    writer = _LegacyWriter(source, table, legacy.VOCABULARY, dtype, extra_rows, tensor_parallel, narrowing)
    require_space(folder, writer.num_bytes)
    with writer.open(folder) as write:
        tensors = (writer.whole(weight) for weight in table)
        for weight, tensor in in_background(zip(table, tensors, strict=True), len(table)):
            write(weight, tensor)


class _LegacyWriter:
    """Files of their final size are made first; then each tensor's cuts are put in their places in all of them."""

    def __init__(
        self,
        source: Source,
        table: list[LegacyWeight],
        vocabulary: tuple[str, str],
        dtype: torch.dtype | None,
        extra_rows: Mapping[str, torch.Tensor],
        num_ranks: int,
        narrowing: Narrowing,
    ) -> None:
        self._source, self._dtype, self._num_ranks, self._narrowing = source, dtype, num_ranks, narrowing
        self._vocabulary, self._extra_rows = vocabulary, extra_rows
        self._cuts = {weight.megatron: self._cut(weight, self._whole(weight, source.meta)) for weight in table}
        self._also = {weight.megatron: weight.also for weight in table if weight.duplicated}
        self.num_bytes = sum(piece.nbytes for pieces in self._cuts.values() for piece in pieces)

    def whole(self, weight: LegacyWeight) -> torch.Tensor:
        """One tensor of the model, uncut."""
        return self._whole(weight, self._source.read)

    @contextlib.contextmanager
    def open(self, folder: Path) -> Iterator[Any]:
        """A function that writes one tensor into all ranks' files in `folder`."""
        with contextlib.ExitStack() as stack:
            places, files = [], []
            for rank in range(self._num_ranks):
                path = folder / f"mp_rank_{rank:02d}" / _WEIGHTS_FILE
                path.parent.mkdir()
                self._write_skeleton(path, rank)
                places.append(_open_rank(path, self._num_ranks))
                files.append(stack.enter_context(open(path, "r+b", buffering=0)))

            def write(weight: LegacyWeight, tensor: torch.Tensor) -> None:
                for place, file, piece in zip(places, files, self._cut(weight, tensor), strict=True):
                    write_at(file.fileno(), place[weight.megatron].offset, piece)

            yield write

    def _whole(self, weight: LegacyWeight, get: Any) -> torch.Tensor:
        name = weight.hf[0]
        tied_head = self._source.config.tie_word_embeddings and name == self._vocabulary[1]
        parts = [get(part) for part in (self._vocabulary[:1] if tied_head else weight.hf)]
        tensor = weight.join(parts, self._source.config)
        if name in self._extra_rows:
            extra = self._extra_rows[name].to(device=tensor.device, dtype=tensor.dtype)
            tensor = torch.cat([tensor, extra])
        return self._narrowing.round(weight.megatron, tensor, self._dtype)

    def _cut(self, weight: LegacyWeight, tensor: torch.Tensor) -> list[torch.Tensor]:
        try:
            return cut(tensor, weight.cut, self._num_ranks)
        except ValueError as error:
            raise UserError(f"TP={self._num_ranks} does not divide {weight.megatron} ({error})") from None

    def _write_skeleton(self, path: Path, rank: int) -> None:
        """The file with holes where tensors belong: memory that is asked for, but never touched, is none."""
        model: dict[str, Any] = {}
        for name, pieces in self._cuts.items():
            tensor = torch.empty(pieces[rank].shape, dtype=pieces[rank].dtype)
            for key in (name, *self._also.get(name, ())):
                _insert(model, key, tensor)
        with torch.serialization.skip_data():
            torch.save({"model": model, "checkpoint_version": 3.0, "args": self._arguments(rank)}, path)

    def _arguments(self, rank: int) -> types.SimpleNamespace:
        text = self._source.config.text_config
        return types.SimpleNamespace(
            orig_vocab_size=text.vocab_size,
            padded_vocab_size=text.vocab_size,  # theirs, too, has it without the extra rows
            hidden_size=text.hidden_size,
            num_layers=text.num_hidden_layers,
            num_attention_heads=text.num_attention_heads,
            tensor_model_parallel_size=self._num_ranks,
            pipeline_model_parallel_size=1,
            data_parallel_size=1,
            make_vocab_size_divisible_by=_VOCABULARY_DIVISOR,
            rank=0,
            tokenizer_type="GPT2BPETokenizer",
            params_dtype=next(iter(self._cuts.values()))[rank].dtype,
        )


def save_extra_rows(source: Source, folder: Path) -> None:
    """Keep the extra rows of a source that has some in `folder`."""
    extra_rows = source.extra_rows() if isinstance(source, LegacySource) else _read_extra_rows(source.hf_files)
    if extra_rows:
        save_file(extra_rows, folder / EXTRA_ROWS_FILE)


def _read_extra_rows(hf_files: Path) -> dict[str, torch.Tensor]:
    path = hf_files / EXTRA_ROWS_FILE
    return {name: tensor.read() for name, tensor in open_safetensors(path).items()} if path.exists() else {}


def _extra_rows(source: Source, vocabulary: tuple[str, str], number: int | None) -> dict[str, torch.Tensor]:
    """Those that the source was converted with, else random ones as published: N(0, 0.02), the same in both tensors."""
    text = source.config.text_config
    num_rows: int = -text.vocab_size % _VOCABULARY_DIVISOR if number is None else number
    kept = _read_extra_rows(source.hf_files)
    if kept and all(rows.shape == (num_rows, text.hidden_size) for rows in kept.values()):
        return {vocabulary[1]: kept[vocabulary[0]], **kept}  # the output layer has none of its own where it is tied
    rows = torch.empty(num_rows, text.hidden_size).normal_(std=0.02, generator=torch.Generator().manual_seed(0))
    return dict.fromkeys(vocabulary, rows)


def _rank_files(weights: Path) -> list[Path]:
    ranks = {int(match[1]): path for path in weights.iterdir() if (match := _RANK.fullmatch(path.name))}
    others = [path.name for path in weights.glob("mp_rank_*_*") if not _RANK.fullmatch(path.name)]
    if others:
        raise UserError(f"{weights}: {others[0]} is a second pipeline stage; only PP=1 exists of this layout")
    if sorted(ranks) != list(range(len(ranks))) or not ranks:
        raise UserError(f"{weights}: has the ranks {sorted(ranks)}; one is missing")
    return [ranks[rank] / _WEIGHTS_FILE for rank in range(len(ranks))]


def _open_rank(path: Path, num_ranks: int) -> dict[str, StoredTensor]:
    """The tensors below `model`, by their joined names."""
    content = read_archive(path)
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        raise UserError(f"{path}: has no model; is it a Megatron checkpoint?")
    size = getattr(content.get("args"), "tensor_model_parallel_size", num_ranks)
    if size != num_ranks:
        raise UserError(f"{path}: is one of {size} ranks, but {num_ranks} are here")
    return dict(_flatten(model, ""))


def _flatten(content: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, StoredTensor]]:
    for key, value in content.items():
        if isinstance(value, StoredTensor):
            yield f"{prefix}{key}", value
        elif isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")


def _insert(model: dict[str, Any], key: str, tensor: torch.Tensor) -> None:
    parts = key.split(".")
    depth = len(parts) - 1 if parts[-2] in _NESTED else 2
    for part in parts[:depth]:
        model = model.setdefault(part, {})
    model[".".join(parts[depth:])] = tensor
