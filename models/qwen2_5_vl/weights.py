"""Qwen2.5-VL's weight table, whose released names are older than transformers' own."""

from collections.abc import Iterator
from typing import Any

from models.weight_table import Weight, copy, language_weights

_PROJECTIONS = ("attn.qkv", "attn.proj", *(f"mlp.{x}_proj" for x in ("gate", "up", "down")))
_MERGER = ("merger.ln_q.weight", *(f"merger.mlp.{layer}.{kind}" for layer in (0, 2) for kind in ("weight", "bias")))


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, "model.", lm_head="lm_head.weight", has_qkv_bias=True)
    tower = [copy(f"visual.{name}", f"visual.{name}") for name in _tower_names(config)]
    return [*language, *tower, *(copy(f"connector.{name}", f"visual.{name}") for name in _MERGER)]


def spellings(name: str) -> Iterator[str]:
    """`name` as in released checkpoints, and as transformers names it in memory since 4.52."""
    yield name
    if name.startswith("visual."):
        yield f"model.{name}"
    elif name.startswith("model."):
        yield name.replace("model.", "model.language_model.", 1)


def _tower_names(config: Any) -> Iterator[str]:
    yield "patch_embed.proj.weight"
    for layer in range(config.vision_config.depth):
        yield from (f"blocks.{layer}.norm{number}.weight" for number in (1, 2))
        yield from (f"blocks.{layer}.{name}.{kind}" for name in _PROJECTIONS for kind in ("weight", "bias"))
