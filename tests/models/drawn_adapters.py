"""Adapter folders as PEFT writes them, with the fields of its configuration drawn, and what people do to them after."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from peft import IA3Config, LoHaConfig, LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

from models.registry import family
from tests.tiny import idefics2, idefics3, llava, qwen2_5_vl, qwen3_vl, text_only

BASES: dict[str, Callable[[Path], Path]] = {
    **{
        kind: lambda folder, kind=kind: text_only.build_policy(folder, kind, layers=2)
        for kind in ("llama", "qwen2", "qwen3", "glm")
    },
    "idefics2": idefics2.build_decisive_policy,
    "smolvlm": idefics3.build_policy,
    "llava": lambda folder: llava.build_decisive_policy(folder, False),
    "qwen2_5_vl": lambda folder: qwen2_5_vl.build_policy(folder, layers=2),
    "qwen3_vl": qwen3_vl.build_policy,
}
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_LANGUAGE = r".*(?<!vision_model)(?<!vision_tower)(?<!visual)\.layers\.\d+\.(self_attn|mlp)\.\w+_proj"


def base_model(folder: Path) -> torch.nn.Module:
    """In fp32."""
    return family(folder).auto_model().from_pretrained(folder, dtype=torch.float32)


def decoder_modules(model: torch.nn.Module) -> list[str]:
    """The linear layers of the decoder, by their names in memory."""
    inside = {id(module) for module in model.get_decoder().layers.modules()}
    return [name for name, one in model.named_modules() if id(one) in inside and isinstance(one, torch.nn.Linear)]


def save_adapter(base: Path, folder: Path, config: Any, seed: int = 0) -> Path:
    """PEFT's own, with random numbers in everything that it trains; raises what PEFT raises."""
    torch.manual_seed(seed)
    model = get_peft_model(base_model(base), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name and "magnitude" not in name:
                parameter.copy_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    return folder


def edit(folder: Path, **fields: Any) -> None:
    """Write these fields into adapter_config.json."""
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def change_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    """Let `change` work on those of adapter_model.safetensors."""
    tensors = load_file(folder / "adapter_model.safetensors")
    change(tensors)
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})


def as_bin(folder: Path, rng: random.Random) -> None:
    torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    (folder / "adapter_model.safetensors").unlink()


def half_gone(folder: Path, rng: random.Random) -> None:
    change_tensors(folder, lambda tensors: tensors.pop(rng.choice(sorted(tensors))))


def of_another_size(folder: Path, rng: random.Random) -> None:
    edit(folder, r=json.loads((folder / "adapter_config.json").read_text())["r"] + 1)


def rounded(folder: Path, rng: random.Random) -> None:
    change_tensors(folder, lambda tensors: tensors.update({name: one.bfloat16() for name, one in tensors.items()}))


def diverged(folder: Path, rng: random.Random) -> None:
    value = rng.choice((float("nan"), float("inf")))
    change_tensors(folder, lambda tensors: tensors[rng.choice(sorted(tensors))].view(-1)[:1].fill_(value))


def with_another_layer(folder: Path, rng: random.Random) -> None:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        name = sorted(tensors)[0]
        tensors[name.replace("layers.0", "layers.9").replace("layers.1", "layers.9")] = tensors[name].clone()

    change_tensors(folder, change)


def with_a_field_of_tomorrow(folder: Path, rng: random.Random) -> None:
    edit(folder, use_tomorrows_lora=True)


def without_targets(folder: Path, rng: random.Random) -> None:
    """Older tools write none; PEFT then takes those that are usual for a model, and none for many."""
    edit(folder, target_modules=None)


def with_fewer_targets(folder: Path, rng: random.Random) -> None:
    targets = json.loads((folder / "adapter_config.json").read_text())["target_modules"]
    edit(folder, target_modules=targets[1:] if isinstance(targets, list) else targets + "x")


CHANGES = (
    *(as_bin, half_gone, of_another_size, rounded, with_another_layer, with_a_field_of_tomorrow, with_fewer_targets),
)


def _targets(rng: random.Random, model: torch.nn.Module) -> Any:
    modules = decoder_modules(model)
    leaves = sorted({name.rpartition(".")[2] for name in modules})
    return rng.choice(
        (
            rng.sample(leaves, rng.randint(1, len(leaves))),
            list(_ATTENTION[: rng.randint(1, 4)]),
            rng.sample(modules, rng.randint(1, len(modules))),
            _LANGUAGE,
            modules,
            "all-linear",
        )
    )


def _patterns(rng: random.Random, model: torch.nn.Module, values: tuple[int, ...]) -> dict[str, int]:
    modules = decoder_modules(model)
    keys = [rng.choice(modules), rng.choice(_ATTENTION), r"layers\.1\..*", rf"^{rng.choice(modules)}", "mlp.down_proj"]
    return {key: rng.choice(values) for key in rng.sample(keys, rng.randint(1, 3))}


def _unusual(rng: random.Random, model: torch.nn.Module) -> dict[str, Any]:
    """What this reader refuses by name."""
    module = rng.choice(decoder_modules(model))
    return rng.choice(
        (
            {"use_dora": True},
            {"lora_bias": True},
            {"bias": rng.choice(("all", "lora_only"))},
            {"modules_to_save": ["lm_head"]},
            {"modules_to_save": ["embed_tokens"]},
            {"init_lora_weights": rng.choice(("pissa", "pissa_niter_4", "olora", "mica"))},
            {"trainable_token_indices": [3, 5]},
            {"target_parameters": [f"{module}.weight"], "target_modules": []},
            {"target_modules": ["q_proj", "embed_tokens"]},
            {"target_modules": ["q_proj", "lm_head"]},
            {"layer_replication": [[0, 2], [1, 2]]},
        )
    )


def draw(base: Path, folder: Path, seed: int) -> tuple[str, ...]:
    """Save one to `folder`; returns what is unusual about it."""
    rng, model = random.Random(seed), base_model(base)
    while True:
        kind = rng.random()
        fields: dict[str, Any] = {"r": rng.choice((1, 2, 4, 6)), "lora_alpha": rng.choice((1, 4, 8, 24))}
        fields["target_modules"] = _targets(rng, model)
        drawn = {
            "rank_pattern": lambda: _patterns(rng, model, (1, 3, 8)),
            "alpha_pattern": lambda: _patterns(rng, model, (2, 16, 64)),
            "use_rslora": lambda: True,
            "fan_in_fan_out": lambda: True,
            "lora_dropout": lambda: 0.1,
            "init_lora_weights": lambda: rng.choice((False, "gaussian", "orthogonal")),
            "exclude_modules": lambda: rng.choice((["o_proj"], r".*layers\.0\..*")),
            "layers_to_transform": lambda: rng.choice((1, [0], [0, 1])),
        }
        fields |= {name: make() for name, make in drawn.items() if rng.random() < 0.25}
        if "layers_to_transform" in fields and rng.random() < 0.5:
            fields["layers_pattern"] = "layers"
        if kind < 0.3:
            fields |= _unusual(rng, model)
        config: Any = LoraConfig
        if kind > 0.97:
            config, fields = rng.choice((LoHaConfig, IA3Config)), {"target_modules": ["q_proj"]}
            fields |= {"feedforward_modules": []} if config is IA3Config else {}
        try:
            save_adapter(base, folder, config(**fields), seed)
        except Exception:  # PEFT refuses many of these; another is drawn
            continue
        break
    changes = [rng.choice(CHANGES)] if kind > 0.8 and config is LoraConfig else []
    for change in changes:
        change(folder, rng)
    names = {name for name in fields if name not in ("r", "lora_alpha", "target_modules", "lora_dropout")}
    return (*sorted(names), *(change.__name__ for change in changes))
