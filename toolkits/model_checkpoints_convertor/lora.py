"""Low-rank adapters: a Megatron checkpoint's, merged into its weights or written as PEFT has them; PEFT's, taken in.

In Megatron, q, k and v (gate and up) are one projection and so are their adapters: `lora_b` [rows, rank] has the
projection's own order of rows, `lora_a` is A of q, k and v one below the other. `adapter.json` beside an iteration's
weights has the rank and alpha.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from common.errors import UserError
from common.files import read_json, write_json
from data.adapter_record import AdapterRecord, read_adapter_record, write_adapter_record
from models.checkpoint.weight_files import open_file
from models.family import Family
from models.weight_table import JOINED_GATE, LANGUAGE, Weight, find_spelling, join_rows
from toolkits.model_checkpoints_convertor.row_moves import Move
from toolkits.model_checkpoints_convertor.sources import Source, TorchDistParts
from toolkits.model_checkpoints_convertor.torch_dist_weights import Entry, TorchDistReader, TorchDistWriter

_PEFT_CONFIG = "adapter_config.json"
_PEFT_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_PEFT_PREFIX = "base_model.model."
_PROJECTIONS = ("linear_qkv.weight", "linear_proj.weight", "linear_fc1.weight", "linear_fc2.weight")


@dataclasses.dataclass(frozen=True)
class Adapter:
    """W + alpha / rank * B A on every projection of the language model; (A, B) by its Hugging Face weight's name. Of a
    gate and its up projection that are one tensor there, A and B of twice the rank hold the adapters of both."""

    rank: int
    alpha: float
    pairs: dict[str, tuple[torch.Tensor, torch.Tensor]]


def adapter_table(family: Family, config: Any) -> list[tuple[Weight, Weight]]:
    """(A, B) of every projection; their `hf` are the names of the weights that they adapt."""
    table = [weight for weight in family.weight_table(config) if weight.megatron.startswith(LANGUAGE)]
    return [_pair(weight) for weight in table if weight.megatron.endswith(_PROJECTIONS)]


def _pair(weight: Weight) -> tuple[Weight, Weight]:
    stem, count = weight.megatron.removesuffix("weight"), len(weight.hf)

    def split_a(tensor: torch.Tensor, config: Any) -> tuple[torch.Tensor, ...]:
        return tensor.chunk(count)

    if is_joined_gate(weight):
        return (
            dataclasses.replace(weight, megatron=f"{stem}lora_a", join=join_rows),
            dataclasses.replace(weight, megatron=f"{stem}lora_b", join=join_rows, split=_split_b),
        )
    return (
        dataclasses.replace(weight, megatron=f"{stem}lora_a", join=join_rows, split=split_a),
        dataclasses.replace(weight, megatron=f"{stem}lora_b"),
    )


def is_joined_gate(weight: Weight) -> bool:
    """Whether Hugging Face has a gate and its up projection in one tensor, too."""
    return JOINED_GATE in weight.hf[0]


def _split_b(tensor: torch.Tensor, config: Any) -> Sequence[torch.Tensor]:
    """B of the gate in the first columns, B of the up projection in the others; A has the rows of both."""
    return (torch.block_diag(*tensor.chunk(2)),)


def _of_both(pair: tuple[torch.Tensor, torch.Tensor], rank: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The gate's (A, B) and the up projection's, of one tensor's: PEFT's, of one A, or what `_split_b` made."""
    a, (of_gate, of_up) = pair[0], pair[1].chunk(2)
    if a.size(0) == rank:
        return [(a, of_gate), (a, of_up)]
    return [(a[:rank], of_gate[:, :rank]), (a[rank:], of_up[:, rank:])]


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
    rank = next(iter(parts_a.values())).size(0)
    record = read_adapter_record(weights)
    if alpha is None and record is None:
        raise UserError(f"{weights}: has adapters, but no adapter.json with their alpha; say it with --lora_alpha")
    alpha = record.alpha if alpha is None and record else alpha
    return Adapter(rank, float(alpha), {name: (parts_a[name], parts_b[name]) for name in parts_a})


def _parts(reader: TorchDistReader, table: list[Weight], config: Any) -> dict[str, torch.Tensor]:
    source = TorchDistParts(reader, table, config)
    return {name: source.read(name) for weight in table for name in weight.hf}


def write_megatron_adapter(
    adapter: Adapter, writer: TorchDistWriter, family: Family, config: Any, folder: Path
) -> None:
    """Add the adapters to a `torch_dist` checkpoint in `folder`; `UserError` unless every projection has one."""
    num_layers = config.get_text_config().num_hidden_layers
    for weights in adapter_table(family, config):
        missing = [name for name in weights[0].hf if name not in adapter.pairs]
        if missing:
            raise UserError(f"the adapter has none for {missing[0]}; training adapts all projections: merge it")
        pairs = [adapter.pairs[name] for name in weights[0].hf]
        if is_joined_gate(weights[0]):
            pairs = _of_both(pairs[0], adapter.rank)
        for weight, parts in zip(weights, zip(*pairs, strict=True), strict=True):
            tensor = weight.join(parts, config)
            writer.write(Entry(weight.megatron, tensor.to("meta"), weight.layer, num_layers), tensor)
    write_adapter_record(AdapterRecord(adapter.rank, adapter.alpha), folder)


def read_peft_adapter(folder: Path, source: Source) -> Adapter:
    """A PEFT adapter for `source`'s model.

    Raises:
        UserError: it isn't plain LoRA, is damaged, or adapts what the model doesn't have.
    """
    fields = read_json(folder / _PEFT_CONFIG)
    unusual = [name for name in ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save") if fields.get(name)]
    if fields.get("peft_type") != "LORA" or unusual or fields.get("bias", "none") != "none":
        raise UserError(f"{folder}: only plain LoRA is supported, not {', '.join(unusual) or fields.get('peft_type')}")
    rank, alpha = fields.get("r"), fields.get("lora_alpha")
    if type(rank) is not int or rank < 1 or not isinstance(alpha, (int, float)):
        raise UserError(f"{folder / _PEFT_CONFIG}: r is {rank!r} and lora_alpha {alpha!r}")
    path = next((folder / name for name in _PEFT_WEIGHTS if (folder / name).exists()), None)
    if path is None:
        raise UserError(f"{folder}: has no {_PEFT_WEIGHTS[0]}")
    stored = {name.removeprefix(_PEFT_PREFIX): tensor for name, tensor in open_file(path).items()}
    pairs = {}
    for name in (name for weight in source.family.weight_table(source.config) for name in weight.hf):
        spelling = find_spelling(name, source.family.spellings, {_adapted(key) for key in stored})
        if spelling is not None:
            stem = spelling.removesuffix(".weight")
            pairs[name] = tuple(_checked(stored, f"{stem}.lora_{side}.weight", path) for side in "AB")
            _check_shapes(name, pairs[name], source.meta(name), rank, path)
    if len(stored) != 2 * len(pairs):
        raise UserError(f"{path}: adapts modules that a {source.family.name} of this size has not")
    scale = rank**0.5 if fields.get("use_rslora") else 1.0  # alpha / sqrt(rank) there
    return Adapter(rank, alpha * scale, pairs)


def _adapted(key: str) -> str:
    return key.replace(".lora_A.weight", ".weight").replace(".lora_B.weight", ".weight")


def _checked(stored: dict[str, Any], name: str, path: Path) -> torch.Tensor:
    if name not in stored:
        raise UserError(f"{path}: has no {name}")
    return stored[name].read()


def _check_shapes(name: str, pair: Any, weight: torch.Tensor, rank: int, path: Path) -> None:
    a, b = pair
    if weight.dim() != 2 or (a.shape, b.shape) != ((rank, weight.size(1)), (weight.size(0), rank)):
        raise UserError(f"{path}: A {tuple(a.shape)} and B {tuple(b.shape)} do not fit {name} {tuple(weight.shape)}")


def write_peft_adapter(
    adapter: Adapter, folder: Path, family: Family, config: Any, base: str, dtype: torch.dtype | None
) -> None:
    """`adapter_model.safetensors` and `adapter_config.json`, as `PeftModel.from_pretrained` reads them.

    Raises:
        UserError: gate and up projection are one tensor in `family`, whose adapter would have another rank.
    """
    if any(is_joined_gate(weight) for weight in family.weight_table(config)):
        raise UserError(
            f"{family.name} has gate and up projection in one tensor, which one PEFT adapter of rank {adapter.rank} "
            "cannot hold apart; merge it: leave --lora apart out"
        )
    tensors = {}
    for name, pair in adapter.pairs.items():
        module = _in_memory(name, family).removesuffix(".weight")
        for side, tensor in zip("AB", pair, strict=True):
            tensors[f"{_PEFT_PREFIX}{module}.lora_{side}.weight"] = tensor.to(dtype or tensor.dtype).contiguous()
    save_file(tensors, folder / _PEFT_WEIGHTS[0], metadata={"format": "pt"})
    decoder = _in_memory(next(iter(adapter.pairs)), family).partition("layers.")[0].replace(".", r"\.")
    fields = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": base,
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        # a full match: bare names would adapt the vision tower's projections as well
        "target_modules": rf"{decoder}layers\.\d+\.(self_attn\.[qkvo]|mlp\.(gate|up|down))_proj",
        "inference_mode": True,
    }
    write_json(folder / _PEFT_CONFIG, fields)


def _in_memory(name: str, family: Family) -> str:
    """What a model of today's transformers calls it."""
    return list(family.spellings(name))[-1]


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
    ) -> None:
        self.family, self.config, self.hf_files = source.family, source.config, source.hf_files
        self._source, self._adapter, self._dtype, self._base_dtype = source, adapter, dtype, base_dtype

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        weight = self._source.meta(name)
        return weight.to(self._dtype) if name in self._adapter.pairs and self._dtype else weight

    def moves(self, name: str) -> list[Move] | None:
        """None for what is computed."""
        return None if name in self._adapter.pairs else self._source.moves(name)

    def read(self, name: str) -> torch.Tensor:
        """W, or W + alpha / rank * B A in fp32."""
        weight = self._source.read(name)
        weight = weight.to(self._base_dtype or weight.dtype)
        if name not in self._adapter.pairs:
            return weight
        a, b = (part.float() for part in self._adapter.pairs[name])
        scale = self._adapter.alpha / self._adapter.rank
        return weight.float().addmm(b, a, alpha=scale).to(self._dtype or weight.dtype)
