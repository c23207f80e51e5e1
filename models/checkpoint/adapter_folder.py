"""A PEFT adapter folder, as converter and server read it: low-rank matrices beside linear layers of a model.

What is refused here is refused before anything is loaded or written.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from models.checkpoint.adapter_config import ADVICE, AdapterConfig, read_adapter_config
from models.checkpoint.blueprint import Blueprint, blueprint
from models.checkpoint.stored_tensor import StoredTensor
from models.checkpoint.weight_tensors import open_file
from models.family import Family
from models.weight_table import find_spelling, language_projections

WEIGHT_FILES = ("adapter_model.safetensors", "adapter_model.bin")
"""In the order of PEFT."""
PREFIX = "base_model.model."
_HALVES = (".lora_A.weight", ".lora_B.weight")
_PRECISIONS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


@dataclasses.dataclass(frozen=True)
class LowRank:
    """W + scale * B A is computed in place of W: `a` [rank, columns], `b` [rows, rank]."""

    a: torch.Tensor
    b: torch.Tensor
    scale: float

    @property
    def rank(self) -> int:
        """Rows of A."""
        return self.a.size(0)


@dataclasses.dataclass(frozen=True)
class Adapter:
    """What it adds, by the names of the weights in its model's weight table."""

    pairs: dict[str, LowRank]


def read_adapter(folder: Path, family: Family, config: Any) -> Adapter:
    """The PEFT adapter in `folder`, for the model of `config`.

    Raises:
        UserError: as `read_adapter_config`; its file is damaged or misses what the configuration names; it holds
            anything but A and B of linear layers that this model has.
    """
    settings = read_adapter_config(folder)
    path, stored = _open(folder)
    plan, pairs = blueprint(family, config), {}
    for name in sorted(plan.linear):
        spelling = find_spelling(name, family.spellings, {_adapted(key) for key in stored})
        halves = [f"{spelling.removesuffix('.weight')}.lora_{side}.weight" for side in "AB"] if spelling else []
        if missing := [half for half in halves if half not in stored]:
            raise UserError(f"{path}: has no {PREFIX}{missing[0]}, the other half of an adapter that it has")
        if spelling and halves:
            is_todays = spelling.removesuffix(".weight") == plan.modules[name]
            names = [plan.modules[name]] if is_todays else list(_modules(name, plan, family))
            pairs[name] = _read_pair(path, name, [stored.pop(half) for half in halves], plan, settings, names)
    if whole := sorted(name for name in stored if not name.endswith(_HALVES)):
        raise UserError(f"{path}: holds {PREFIX}{whole[0]}, which is not low-rank: {ADVICE}")
    if stored:
        raise UserError(
            f"{path}: holds {PREFIX}{min(stored)}, which adapts no linear layer of a {family.name} of this size"
        )
    if not pairs:
        raise UserError(f"{path}: adapts nothing")
    if settings.names_targets:
        _check_targets(path, settings, pairs.keys(), plan, family, config)
    return Adapter(pairs)


def check_language_only(folder: Path, adapter: Adapter, family: Family, config: Any) -> None:
    """`UserError` for what only a merged model can hold: adapters outside the language model's own projections."""
    inside = {name for weight in language_projections(family, config) for name in weight.hf}
    if outside := sorted(adapter.pairs.keys() - inside):
        raise UserError(
            f"{folder}: adapts {outside[0]} (and {len(outside) - 1} more), which is outside the language model's "
            "layers, which alone have adapters apart: merge it (hf2mg.sh --adapter_path, then mg2hf.sh)"
        )


def _open(folder: Path) -> tuple[Path, dict[str, StoredTensor]]:
    path = next((folder / name for name in WEIGHT_FILES if (folder / name).exists()), None)
    if path is None:
        raise UserError(f"{folder}: has no {WEIGHT_FILES[0]}")
    stored = open_file(path)
    if strange := [name for name in stored if not name.startswith(PREFIX)]:
        raise UserError(f"{path}: holds {strange[0]}; PEFT reads only what starts with {PREFIX}")
    if coarse := [name for name, tensor in stored.items() if tensor.dtype not in _PRECISIONS]:
        raise UserError(
            f"{path}: {coarse[0]} is {str(stored[coarse[0]].dtype).removeprefix('torch.')}, no 16 to 64 bits"
        )
    return path, {name.removeprefix(PREFIX): tensor for name, tensor in stored.items()}


def _adapted(key: str) -> str:
    return key.replace(".lora_A.weight", ".weight").replace(".lora_B.weight", ".weight")


def _read_pair(
    path: Path, name: str, halves: list[StoredTensor], plan: Blueprint, settings: AdapterConfig, modules: list[str]
) -> LowRank:
    """`modules`: what the layer was called where patterns were matched, in PEFT's file by today's name if it has it."""
    rank, (rows, columns) = settings.rank(modules), plan.shapes[name]
    shapes = [tensor.shape for tensor in halves]
    if shapes != [(rank, columns), (rows, rank)]:
        raise UserError(
            f"{path}: A {list(shapes[0])} and B {list(shapes[1])} of {name} do not fit [{rows}, {columns}] "
            f"and rank {rank}"
        )
    a, b = (tensor.read() for tensor in halves)
    if not (a.isfinite().all() and b.isfinite().all()):
        raise UserError(f"{path}: A or B of {name} holds NaN or infinity; its training has failed")
    return LowRank(a, b, settings.scale(modules))


def _modules(name: str, plan: Blueprint, family: Family) -> Iterator[str]:
    """What versions of transformers call the layer of a weight, the one that is installed first."""
    yield plan.modules[name]
    yield from (spelling.removesuffix(".weight") for spelling in family.spellings(name))


def _check_targets(
    path: Path, settings: AdapterConfig, found: Any, plan: Blueprint, family: Family, config: Any
) -> None:
    """`UserError` where PEFT would leave out what the file holds, or the file misses a layer of the language model.
    A tower's layers have names like the language model's: of those that are not there PEFT makes nothing, too."""
    language = {name for weight in language_projections(family, config) for name in weight.hf}
    for name in sorted(plan.linear):
        modules = list(_modules(name, plan, family))
        is_targeted = any(settings.targets(module, name == plan.head) for module in modules)
        if name in found and not is_targeted:
            raise UserError(f"{path}: adapts {modules[0]}, which target_modules of {settings.path.name} leaves out")
        if is_targeted and name not in found and name in language:
            raise UserError(f"{path}: has nothing for {modules[0]}, which target_modules of {settings.path.name} names")
