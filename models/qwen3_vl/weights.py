"""Qwen3-VL's weight table: the mergers leave the tower, in which Hugging Face has them, and become the connector."""

from collections.abc import Iterator
from typing import Any

from models.idefics2.weights import spellings
from models.weight_table import Weight, copy, language_weights

__all__ = ["spellings", "weight_table"]

_BLOCK = ("norm1", "norm2", "attn.qkv", "attn.proj", "mlp.linear_fc1", "mlp.linear_fc2")
_MERGER = ("norm", "linear_fc1", "linear_fc2")


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, "model.language_model.", lm_head="lm_head.weight", normalizes_heads=True)
    tower = [copy(f"visual.{name}", f"model.visual.{name}") for name in _tower_names(config)]
    mergers = [
        "merger",
        *(f"deepstack_merger_list.{n}" for n in range(len(config.vision_config.deepstack_visual_indexes))),
    ]
    names = [f"{merger}.{name}.{kind}" for merger in mergers for name in _MERGER for kind in ("weight", "bias")]
    return [*language, *tower, *(copy(f"connector.{name}", f"model.visual.{name}") for name in names)]


def _tower_names(config: Any) -> Iterator[str]:
    yield "pos_embed.weight"
    modules = ["patch_embed.proj"]
    modules += [f"blocks.{layer}.{name}" for layer in range(config.vision_config.depth) for name in _BLOCK]
    for module in modules:
        yield from (f"{module}.weight", f"{module}.bias")
