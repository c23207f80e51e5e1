"""Low-rank adapters: a Megatron checkpoint's, merged into its weights or written as PEFT has them; PEFT's, taken in.

`adapter.json` beside an iteration's weights has the rank and alpha, which all projections share. Where an adapter has a
smaller rank, or none, rows of A and columns of B are zero: no gradient ever reaches these, so they stay what they are,
and the way back leaves them out.
"""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from data.adapter_record import AdapterRecord, read_adapter_record, write_adapter_record
from models.adapter_table import adapter_table, is_joined_gate
from models.checkpoint.adapter_folder import Adapter, LowRank
from models.checkpoint.blueprint import blueprint
from models.checkpoint.narrowing import Narrowing
from models.checkpoint.peft_writer import alpha_of
from models.checkpoint.row_moves import Move
from models.family import Family
from models.weight_table import Weight, language_projections
from toolkits.model_checkpoints_convertor.sources import Source, TorchDistParts
from toolkits.model_checkpoints_convertor.torch_dist_weights import Entry, TorchDistReader, TorchDistWriter


def _of_both(pair: LowRank) -> list[LowRank]:
    """The gate's and the up projection's, of one tensor's: PEFT's, of one A, or what `_split_b` made."""
    (of_gate, of_up), half = pair.b.chunk(2), pair.rank // 2
    if pair.rank % 2 or of_gate[:, half:].any() or of_up[:, :half].any():
        return [dataclasses.replace(pair, b=of_gate), dataclasses.replace(pair, b=of_up)]
    return [
        LowRank(pair.a[:half], of_gate[:, :half], pair.scale),
        LowRank(pair.a[half:], of_up[:, half:], pair.scale),
    ]


def read_megatron_adapter(weights: Path, family: Family, config: Any, alpha: float | None) -> Adapter | None:
    """The adapters of a `torch_dist` iteration, which may hold nothing else; None when it has none.

    Raises:
        UserError: some are missing, or nobody says their alpha: neither `adapter.json` nor `alpha`.
    """
    reader = TorchDistReader(weights)
    if not any(key.endswith(".lora_a") for key in reader.keys()):  # noqa: SIM118 (not a dict)
        return None
    table = adapter_table(family, config)
    parts_a, parts_b = (_parts(reader, [pair[side] for pair in table], config) for side in (0, 1))
    rank = reader.meta(table[0][1].megatron).size(-1)
    record = read_adapter_record(weights)
    if alpha is None and record is None:
        raise UserError(f"{weights}: has adapters, but no adapter.json with their alpha; say it with --lora_alpha")
    scale = (record.alpha if alpha is None and record else float(alpha or 0)) / rank
    return Adapter({name: LowRank(parts_a[name], parts_b[name], scale) for name in parts_a})


def _parts(reader: TorchDistReader, table: list[Weight], config: Any) -> dict[str, torch.Tensor]:
    source = TorchDistParts(reader, table, config)
    return {name: source.read(name) for weight in table for name in weight.hf}


def write_megatron_adapter(
    adapter: Adapter, writer: TorchDistWriter, family: Family, config: Any, folder: Path
) -> None:
    """Add the adapters to a `torch_dist` checkpoint in `folder`; all are among the table's projections."""
    parts, shapes = _halves(adapter, family, config), _shapes(family, config)
    rank = max(pair.rank for pair in parts.values())
    scale = Counter(pair.scale for pair in parts.values()).most_common(1)[0][0]
    dtype = _common_dtype(parts.values(), scale)
    num_layers = config.get_text_config().num_hidden_layers
    for table_a, table_b in adapter_table(family, config):
        names = _half_names(table_a)
        pairs = [_grown(parts.get(name), shapes[name], rank, scale, dtype) for name in names]
        for weight, tensors in ((table_a, [pair.a for pair in pairs]), (table_b, [pair.b for pair in pairs])):
            tensor = weight.join(tensors, config)
            writer.write(Entry(weight.megatron, tensor.to("meta"), weight.layer, num_layers), tensor)
    write_adapter_record(AdapterRecord(rank, alpha_of(rank, scale)), folder)


def _half_names(weight: Weight) -> list[str]:
    return [f"{weight.hf[0]}[{half}]" for half in range(2)] if is_joined_gate(weight) else list(weight.hf)


def _halves(adapter: Adapter, family: Family, config: Any) -> dict[str, LowRank]:
    """The pairs by name, a joined gate's as two."""
    parts = dict(adapter.pairs)
    for weight in language_projections(family, config):
        if is_joined_gate(weight) and weight.hf[0] in parts:
            parts |= zip(_half_names(weight), _of_both(parts.pop(weight.hf[0])), strict=True)
    return parts


def _shapes(family: Family, config: Any) -> dict[str, tuple[int, int]]:
    """[rows, columns] of what each half of `_halves` adapts."""
    full = blueprint(family, config).shapes
    table = language_projections(family, config)
    shapes = {}
    for weight in table:
        for name, whole in zip(_half_names(weight), weight.hf * (2 if is_joined_gate(weight) else 1), strict=True):
            rows, columns = full[whole]
            shapes[name] = (rows // 2 if is_joined_gate(weight) else rows, columns)
    return shapes


def _common_dtype(pairs: Any, scale: float) -> torch.dtype:
    """One that holds the numbers of all of them; fp32 where some are multiplied."""
    dtype = torch.float32 if any(pair.scale != scale for pair in pairs) else next(iter(pairs)).a.dtype
    for tensor in (tensor for pair in pairs for tensor in (pair.a, pair.b)):
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


def _grown(pair: LowRank | None, shape: tuple[int, int], rank: int, scale: float, dtype: torch.dtype) -> LowRank:
    """The same product at `rank` and `scale`."""
    a, b = torch.zeros(rank, shape[1], dtype=dtype), torch.zeros(shape[0], rank, dtype=dtype)
    if pair is not None:
        a[: pair.rank] = pair.a
        b[:, : pair.rank] = pair.b if pair.scale == scale else pair.b.to(dtype) * (pair.scale / scale)
    return LowRank(a, b, scale)


class MergedSource:
    """A source with an adapter baked into its weights, rounded once: to `dtype`, or to the weights' own.

    `base_dtype` is what the weights are rounded to before that.
    """

    def __init__(
        self,
        source: Source,
        adapter: Adapter,
        dtype: torch.dtype | None = None,
        base_dtype: torch.dtype | None = None,
        narrowing: Narrowing | None = None,
    ) -> None:
        """Without `narrowing` sums that are too small for their type may become zero."""
        self._narrowing = narrowing or Narrowing("to_zero")
        self.family, self.config, self.hf_files = source.family, source.config, source.hf_files
        self._source, self._pairs, self._dtype, self._base_dtype = source, adapter.pairs, dtype, base_dtype

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        weight = self._source.meta(name)
        return weight.to(self._dtype) if name in self._pairs and self._dtype else weight

    def moves(self, name: str) -> list[Move] | None:
        """None for what is computed."""
        return None if name in self._pairs else self._source.moves(name)

    def read(self, name: str) -> torch.Tensor:
        """W, or W + scale * B A in fp32."""
        weight = self._source.read(name)
        weight = weight.to(self._base_dtype or weight.dtype)
        if name not in self._pairs:
            return weight
        pair = self._pairs[name]
        merged = weight.float().addmm(pair.b.float(), pair.a.float(), alpha=pair.scale)
        return self._narrowing.round(name, merged, self._dtype or weight.dtype)
