"""Write a source's tensors as a checkpoint of another format, one tensor after the other."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import torch
from rich.console import Console
from rich.progress import track

from common.errors import UserError
from models.checkpoint.narrowing import Narrowing
from models.checkpoint.output_folder import require_space
from models.checkpoint.row_moves import Move, moves
from models.checkpoint.safetensors_writer import SafetensorsWriter
from models.weight_table import Weight
from toolkits.model_checkpoints_convertor.sources import HfSource, Source
from toolkits.model_checkpoints_convertor.torch_dist_weights import Entry, TorchDistWriter

Item = TypeVar("Item")


def write_hf(
    source: Source, folder: Path, dtype: torch.dtype | None, max_shard_bytes: int, narrowing: Narrowing
) -> None:
    """`source` as safetensors files of at most `max_shard_bytes`; `dtype` None keeps each tensor's."""
    names = [name for weight in source.family.weight_table(source.config) for name in weight.hf]
    announced = [(name, source.meta(name).to(dtype or source.meta(name).dtype)) for name in names]
    require_space(folder, sum(tensor.nbytes for _, tensor in announced))
    with SafetensorsWriter(folder, announced, max_shard_bytes) as writer:
        contents = (_content(source, name, expected.dtype, narrowing) for name, expected in announced)
        for name, content in in_background(zip(names, contents, strict=True), len(names)):
            writer.write(name, content)


def write_torch_dist(
    source: Source,
    folder: Path,
    dtype: torch.dtype | None,
    narrowing: Narrowing,
    finish: Callable[[TorchDistWriter], None] | None = None,
) -> None:
    """`source` as a `torch_dist` checkpoint in the existing, empty `folder`; `finish` may add to it."""
    table = source.family.weight_table(source.config)
    num_layers = source.config.get_text_config().num_hidden_layers
    dtypes = _dtypes(source, table, dtype)
    entries = [_entry(source, weight, dtypes[weight.megatron], num_layers) for weight in table]
    require_space(folder, sum(entry.tensor.nbytes for entry in entries))
    with TorchDistWriter(folder) as writer:
        tensors = (_joined(source, weight, entry, narrowing) for weight, entry in zip(table, entries, strict=True))
        for entry, tensor in in_background(zip(entries, tensors, strict=True), len(entries)):
            writer.write(entry, tensor)
        if finish:
            finish(writer)


def _dtypes(source: Source, table: list[Weight], dtype: torch.dtype | None) -> dict[str, torch.dtype]:
    """Of each Megatron tensor, which all layers share: `dtype`, or one that holds the numbers of all its parts."""
    found: dict[str, torch.dtype] = {}
    for weight in table:
        for name in weight.hf:
            own = dtype or source.meta(name).dtype
            found[weight.megatron] = torch.promote_types(found.get(weight.megatron, own), own)
    return found


def _entry(source: Source, weight: Weight, dtype: torch.dtype, num_layers: int) -> Entry:
    parts = [source.meta(name) for name in weight.hf]
    try:
        joined = weight.join(parts, source.config)
    except (RuntimeError, ValueError):
        shapes = ", ".join(str(tuple(part.shape)) for part in parts)
        raise UserError(f"{source.hf_files}: {weight.hf[0]} has shape {shapes}, which config.json forbids") from None
    return Entry(weight.megatron, joined.to(dtype), weight.layer, num_layers)


def _content(source: Source, name: str, dtype: torch.dtype, narrowing: Narrowing) -> torch.Tensor | list[Move]:
    """A tensor as moves where its bytes stay the same."""
    found = source.moves(name) if source.meta(name).dtype == dtype else None
    return narrowing.round(name, source.read(name), dtype) if found is None else found


def _joined(source: Source, weight: Weight, entry: Entry, narrowing: Narrowing) -> torch.Tensor | list[Move]:
    """A joined tensor, as moves where every part is whole in a file and its bytes stay the same."""
    found = [source.moves(name) for name in weight.hf]
    stored = [parts[0].source for parts in found if parts and len(parts) == 1 and parts[0].source]
    stored = [tensor for tensor in stored if tensor.dtype == entry.tensor.dtype]
    if isinstance(source, HfSource) and len(stored) == len(weight.hf):
        joined = moves(lambda parts, config: [weight.join(parts, config)], stored, source.config)
        if joined is not None:
            return joined[0]
    parts = [narrowing.round(name, source.read(name), entry.tensor.dtype) for name in weight.hf]
    return weight.join(parts, source.config)


def in_background(items: Iterable[Item], count: int) -> Iterator[Item]:
    """`items`, the next one made by a thread while one is used, with a progress bar on a terminal."""
    console, iterator = Console(stderr=True), iter(items)
    with ThreadPoolExecutor(1) as thread:
        ahead = thread.submit(next, iterator, None)
        for _ in track(range(count), "tensors", console=console, disable=not console.is_terminal):
            item, ahead = ahead.result(), thread.submit(next, iterator, None)
            if item is not None:
                yield item
