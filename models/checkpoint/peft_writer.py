"""Low-rank adapters are written as PEFT has them."""

import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors.torch import save_file

from common.errors import UserError
from common.files import write_json
from models.checkpoint.adapter_config import CONFIG_FILE
from models.checkpoint.adapter_folder import PREFIX, WEIGHT_FILES, Adapter, LowRank
from models.checkpoint.narrowing import Narrowing
from models.family import Family


def write_peft_adapter(
    adapter: Adapter,
    folder: Path,
    family: Family,
    base: str,
    dtype: torch.dtype | None,
    narrowing: Narrowing,
) -> None:
    """`adapter_model.safetensors` and `adapter_config.json`, as `PeftModel.from_pretrained` reads them."""
    pairs = {_in_memory(name, family).removesuffix(".weight"): _lively(pair) for name, pair in adapter.pairs.items()}
    pairs = {module: pair for module, pair in pairs.items() if pair.rank}
    if not pairs:
        raise UserError("the adapters are zero everywhere; leave --lora apart out")
    tensors = {}
    for module, pair in pairs.items():
        for side, tensor in (("A", pair.a), ("B", pair.b)):
            tensors[f"{PREFIX}{module}.lora_{side}.weight"] = narrowing.round(module, tensor, dtype).contiguous()
    save_file(tensors, folder / WEIGHT_FILES[0], metadata={"format": "pt"})
    (rank, scale), _ = Counter((pair.rank, pair.scale) for pair in pairs.values()).most_common(1)[0]
    ranks = {re.escape(module): pair.rank for module, pair in pairs.items() if pair.rank != rank}
    alphas = {re.escape(module): alpha_of(pair.rank, pair.scale) for module, pair in pairs.items()}
    alpha = alpha_of(rank, scale)
    fields = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": alpha,
        "rank_pattern": ranks,
        "alpha_pattern": {module: own for module, own in alphas.items() if own != alpha},
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": _targets(pairs),
        "inference_mode": True,
    }
    write_json(folder / CONFIG_FILE, fields)


def alpha_of(rank: int, scale: float) -> float:
    """What `scale` came of, without the last digits that dividing and multiplying left."""
    return float(f"{scale * rank:.12g}")


def _lively(pair: LowRank) -> LowRank:
    """Without the ranks that `_grown` filled up."""
    kept = (pair.a != 0).any(dim=1) | (pair.b != 0).any(dim=0)
    return pair if kept.all() else LowRank(pair.a[kept], pair.b[:, kept], pair.scale)


def _targets(modules: Collection[str]) -> str | list[str]:
    """A full match where all layers have the same: bare names would adapt the vision tower's projections as well."""
    found = [match for module in modules if (match := re.fullmatch(r"(.*\.layers)\.(\d+)\.(.*)", module))]
    stems, numbers, names = ({match[group] for match in found} for group in (1, 2, 3))
    if len(stems) * len(numbers) * len(names) != len(modules):
        return sorted(modules)
    layers = r"\d+" if numbers == set(map(str, range(len(numbers)))) else f"({'|'.join(sorted(numbers, key=int))})"
    return rf"{re.escape(*stems)}\.{layers}\.({'|'.join(map(re.escape, sorted(names)))})"


def _in_memory(name: str, family: Family) -> str:
    """What a model of today's transformers calls it."""
    return list(family.spellings(name))[-1]
