"""What a checkpoint of any format contains, as text, from its headers alone."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import read_object
from data.checkpoint_folder import find_weights, read_tracker, trained_on
from models.checkpoint.adapter_config import read_adapter_config
from models.checkpoint.adapter_folder import WEIGHT_FILES
from models.checkpoint.hf_folder import read_hf_folder
from models.checkpoint.weight_tensors import open_file, open_weights
from toolkits.model_checkpoints_convertor.legacy_weights import find_legacy_weights, open_ranks
from toolkits.model_checkpoints_convertor.original_llava import find_original_llava
from toolkits.model_checkpoints_convertor.torch_dist_weights import TorchDistReader

_ADAPTER, _HF = "PEFT adapter", "Hugging Face"


def describe(path: Path) -> str:
    """Format, model, every kind of tensor with its shape, type and size, and what nobody here will read it for.

    Raises:
        UserError: there is no checkpoint at `path`, or it is damaged.
    """
    if not path.exists():
        raise UserError(f"{path}: no such checkpoint folder")
    title, tensors, hf_files = _open(path)
    groups = Counter((_general(name), tuple(tensor.shape), tensor.dtype) for name, tensor in tensors)
    lines = [title, *_model(hf_files), *_data(path)]
    width = max((len(name) for name, _, _ in groups), default=0)
    for (name, shape, dtype), count in groups.items():
        times = f"{count} x " if count > 1 else ""
        lines.append(f"  {name:{width}}  {times}{list(shape)} {str(dtype).removeprefix('torch.')}")
    num_elements = sum(tensor.numel() for _, tensor in tensors)
    num_bytes = sum(tensor.numel() * tensor.dtype.itemsize for _, tensor in tensors)
    lines.append(f"{len(tensors)} tensors, {num_elements:,} elements, {num_bytes:,} bytes")
    return "\n".join([*lines, *_refusal(path, title)])


def _data(path: Path) -> list[str]:
    """What a training run's iteration was made with: a digest of its shards, and of the mix that they are of."""
    try:
        data, mix = trained_on(find_weights(path)[0])
    except UserError:  # of another layout, in which nothing says so
        return []
    told = [f"  trained on data of SHA-256 {data[:16]}"] if data else []
    return [*told, f"  of the mix of SHA-256 {mix}"] if mix else told


def _refusal(path: Path, title: str) -> list[str]:
    """Why neither converter nor server would take it, if so."""
    try:
        if title.endswith(_HF):
            read_hf_folder(path)
        elif title.endswith(_ADAPTER):
            read_adapter_config(path)
    except UserError as error:
        return [f"refused: {error}"]
    return []


def _open(path: Path) -> tuple[str, list[tuple[str, torch.Tensor]], Path]:
    """(format, named meta tensors, folder of config.json)."""
    if legacy := find_legacy_weights(path):
        ranks = open_ranks(legacy[0])
        return f"{legacy[0]}: legacy Megatron, TP={len(ranks)}; rank 0:", _meta(ranks[0].items()), legacy[1]
    if adapter := next((path / name for name in WEIGHT_FILES if (path / name).exists()), None):
        return f"{path}: {_ADAPTER}", _meta(open_file(adapter).items()), path
    if original := find_original_llava(path):
        stored = open_file(original) if original.is_file() else open_weights(original)
        return (
            f"{original}: LLaVA's own layout",
            _meta(stored.items()),
            original if original.is_dir() else original.parent,
        )
    if (path / "config.json").exists() and read_tracker(path) is None:
        return f"{path}: {_HF}", _meta(open_weights(path).items()), path
    weights, hf_files = find_weights(path)
    reader = TorchDistReader(weights)
    return f"{weights}: Megatron torch_dist", [(key, reader.meta(key)) for key in reader.keys()], hf_files  # noqa: SIM118


def _meta(stored: Iterable[tuple[str, Any]]) -> list[tuple[str, torch.Tensor]]:
    return [(name, torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")) for name, tensor in stored]


def _general(name: str) -> str:
    """Layers of a kind are one line."""
    return re.sub(r"\.\d+\.", ".*.", name)


def _model(hf_files: Path) -> list[str]:
    path = hf_files / "config.json"
    if not path.exists():
        return []
    fields = read_object(path)
    text = fields.get("text_config") or fields
    sizes = {name: text[name] for name in ("num_hidden_layers", "hidden_size", "vocab_size") if name in text}
    return [f"  {fields.get('model_type')} {sizes or ''}".rstrip()]
