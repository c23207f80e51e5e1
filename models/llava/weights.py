"""LLaVA's weight table."""

from collections.abc import Iterator
from typing import Any

from models.weight_table import Weight, copy, language_weights

_VISION_LAYER = (
    *("layer_norm1", "layer_norm2", "mlp.fc1", "mlp.fc2"),
    *(f"self_attn.{x}" for x in ("q_proj", "k_proj", "v_proj", "out_proj")),
)


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, decoder="language_model.model.", lm_head="language_model.lm_head.weight")
    vision = (copy(f"vision_tower.{name}", f"vision_tower.vision_model.{name}") for name in vision_names(config))
    return [*language, *vision, *(copy(name, name) for name in _projector_names(config))]


def spellings(name: str) -> Iterator[str]:
    """`name` as in released checkpoints, as transformers 5 writes it, and as a model names it in memory (4.52 on)."""
    short = name.replace("vision_tower.vision_model.", "vision_tower.")
    yield name
    yield short
    if name.startswith("language_model.lm_head."):
        yield name.removeprefix("language_model.")
    else:
        in_memory = f"model.{short}".replace("model.language_model.model.", "model.language_model.")
        yield from (in_memory, in_memory.replace("model.vision_tower.", "model.vision_tower.vision_model."))


def vision_names(config: Any) -> Iterator[str]:
    """A CLIP tower's tensors."""
    yield from ("embeddings.class_embedding", "embeddings.patch_embedding.weight")
    yield "embeddings.position_embedding.weight"
    modules = ["pre_layrnorm", "post_layernorm"]
    for layer in range(config.vision_config.num_hidden_layers):
        modules += [f"encoder.layers.{layer}.{name}" for name in _VISION_LAYER]
    for module in modules:
        yield from (f"{module}.weight", f"{module}.bias")


def _projector_names(config: Any) -> Iterator[str]:
    """The connector's tensors: two linear layers."""
    kinds = ("weight", "bias") if config.multimodal_projector_bias else ("weight",)
    yield from (f"multi_modal_projector.linear_{number}.{kind}" for number in (1, 2) for kind in kinds)
