"""A PEFT adapter's configuration: every field is used, known to have no effect, or refused by name.

The rules are those of PEFT 0.21, `LoraConfig` and `peft.tuners.tuners_utils.check_target_module_exists`.
"""

import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from common.options.fields import is_number

CONFIG_FILE = "adapter_config.json"
_USED = {
    *("peft_type", "r", "lora_alpha", "rank_pattern", "alpha_pattern", "use_rslora", "init_lora_weights", "bias"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
}
_WITHOUT_EFFECT = {
    *("task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode"),
    *("lora_dropout", "runtime_config", "megatron_core", "qalora_group_size", "ensure_weight_tying"),
    "fan_in_fan_out",  # PEFT itself sets it to False for linear layers
    *("loftq_config", "eva_config", "corda_config", "lora_ga_config"),  # of initializations, whose names say them
}
"""In a trained adapter on linear layers."""
_INITIALIZATIONS = (True, False, None, "gaussian", "eva", "orthogonal")
"""Those that leave the base as it is; others (pissa, olora, corda, loftq) train an adapter of another base."""
_EVERYTHING = "all-linear"
ADVICE = "merge it with PEFT (merge_and_unload) and convert or serve the model that comes of it"


@dataclasses.dataclass(frozen=True)
class AdapterConfig:
    """A plain LoRA's."""

    path: Path
    fields: dict[str, Any]

    @property
    def names_targets(self) -> bool:
        """Some folders leave out which modules are adapted; then only the tensors say it."""
        return bool(self.fields.get("target_modules"))

    def rank(self, spellings: Sequence[str]) -> int:
        """Of the module that versions of transformers call so, today's name first."""
        return self._by_pattern("rank_pattern", spellings, self.fields["r"])

    def scale(self, spellings: Sequence[str]) -> float:
        """What B A is multiplied by."""
        alpha, rank = self._by_pattern("alpha_pattern", spellings, self.fields["lora_alpha"]), self.rank(spellings)
        return alpha / (math.sqrt(rank) if self.fields.get("use_rslora") else rank)

    def targets(self, module: str, is_head: bool) -> bool:
        """Whether the configuration names the linear layer `module`."""
        wanted, excluded = self.fields["target_modules"], self.fields.get("exclude_modules") or ()
        if _matches(excluded, module):
            return False
        if wanted == _EVERYTHING:
            return not is_head
        if not _matches(wanted, module):
            return False
        return isinstance(wanted, str) or module in wanted or self._is_in_layers(module)

    def _is_in_layers(self, module: str) -> bool:
        layers, patterns = self.fields.get("layers_to_transform"), self.fields.get("layers_pattern") or r"[^.]*"
        if layers is None or layers == []:
            return True
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            if found := re.match(rf"(?:^|.*?\.){pattern}\.(\d+)\.", module):
                return int(found[1]) in ([layers] if isinstance(layers, int) else layers)
        return False

    def _by_pattern(self, field: str, spellings: Sequence[str], default: Any) -> Any:
        patterns = self.fields.get(field) or {}
        for module in spellings:
            for pattern, value in patterns.items():
                if re.match(rf"(.*\.)?({pattern})$", module):
                    return value
        return default


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no model."""
    try:
        return (folder / CONFIG_FILE).is_file() and not (folder / "config.json").exists()
    except OSError:  # no name that a file can have
        return False


def base_of(folder: Path) -> Path | None:
    """The folder of the model that an adapter was made for, where it names one that is here."""
    said = read_adapter_config(folder).fields.get("base_model_name_or_path")
    base = Path(said) if isinstance(said, str) and said else None
    return base if base and (base / "config.json").is_file() else None


def read_adapter_config(folder: Path) -> AdapterConfig:
    """That of the adapter in `folder`.

    Raises:
        UserError: there is none, a field asks for more than low-rank matrices beside linear layers, or is none of its
            kind.
    """
    path = folder / CONFIG_FILE
    if not path.exists():
        raise UserError(f"{folder}: is no PEFT adapter, it has no {CONFIG_FILE}")
    fields = read_json(path)
    if not isinstance(fields, dict) or fields.get("peft_type") != "LORA":
        kind = fields.get("peft_type") if isinstance(fields, dict) else None
        raise UserError(f"{path}: peft_type is {kind!r}; only LORA is read: {ADVICE}")
    _check_numbers(path, fields)
    _check_targets(path, fields)
    unusual = {name for name, value in fields.items() if value and name not in _USED | _WITHOUT_EFFECT}
    unusual |= {"bias"} if fields.get("bias", "none") != "none" else set()
    unusual |= {"init_lora_weights"} if fields.get("init_lora_weights") not in _INITIALIZATIONS else set()
    if unusual:
        found = ", ".join(f"{name} {fields[name]!r}" for name in sorted(unusual))
        raise UserError(f"{path}: {found}: only low-rank matrices beside the base's own layers are read: {ADVICE}")
    return AdapterConfig(path, fields)


def _matches(wanted: Any, module: str) -> bool:
    if isinstance(wanted, str):
        return bool(re.fullmatch(wanted, module))
    return any(module == name or module.endswith(f".{name}") for name in wanted)


def _check_numbers(path: Path, fields: dict[str, Any]) -> None:
    ranks, alphas = ({"": fields.get(name)} for name in ("r", "lora_alpha"))
    for name, values in (("rank_pattern", ranks), ("alpha_pattern", alphas)):
        patterns = fields.get(name) or {}
        if not isinstance(patterns, dict) or not all(map(_compiles, patterns)):
            raise UserError(f"{path}: {name} is {patterns!r}")
        values.update(patterns)
    for pattern, rank in ranks.items():
        if type(rank) is not int or rank < 1:
            raise UserError(f"{path}: {f'rank_pattern of {pattern}' if pattern else 'r'} is {rank!r}")
    for pattern, alpha in alphas.items():
        if not is_number(alpha):
            raise UserError(f"{path}: {f'alpha_pattern of {pattern}' if pattern else 'lora_alpha'} is {alpha!r}")


def _check_targets(path: Path, fields: dict[str, Any]) -> None:
    """`UserError` for what is neither a regular expression nor a list of names."""
    for name in ("target_modules", "exclude_modules", "layers_pattern"):
        value = fields.get(name) or []
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not is_list and not (isinstance(value, str) and _compiles(value)):
            raise UserError(f"{path}: {name} is {value!r}")
    layers = fields.get("layers_to_transform")
    if layers is not None and not all(type(one) is int for one in (layers if isinstance(layers, list) else [layers])):
        raise UserError(f"{path}: layers_to_transform is {layers!r}")


def _compiles(pattern: Any) -> bool:
    try:
        return isinstance(pattern, str) and bool(re.compile(pattern))
    except re.error:
        return False
