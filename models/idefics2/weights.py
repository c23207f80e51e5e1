"""idefics2's weight table."""

from collections.abc import Iterator
from typing import Any

from models.weight_table import Weight, copy, language_weights

_VISION = ("embeddings.patch_embedding", "post_layernorm")
_VISION_LAYER = (
    *("layer_norm1", "layer_norm2", "mlp.fc1", "mlp.fc2"),
    *(f"self_attn.{x}" for x in ("q_proj", "k_proj", "v_proj", "out_proj")),
)
_CONNECTOR = (
    *(f"modality_projection.{x}_proj.weight" for x in ("gate", "up", "down")),
    "perceiver_resampler.latents",
    "perceiver_resampler.norm.weight",
)
_RESAMPLER_LAYER = (
    *("input_latents_norm", "input_context_norm", "post_attention_layernorm"),
    *(f"self_attn.{x}_proj" for x in "qkvo"),
    *(f"mlp.{x}_proj" for x in ("gate", "up", "down")),
)


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, decoder="model.text_model.", lm_head="lm_head.weight")
    connector = (f"connector.{name}" for name in _connector_names(config))
    return [*language, *(copy(name, f"model.{name}") for name in (*tower_names(config), *connector))]


def spellings(name: str) -> Iterator[str]:
    """`name` as every version of transformers writes it."""
    yield name


def tower_names(config: Any) -> Iterator[str]:
    """A SigLIP tower's tensors, of idefics2 or its kin."""
    yield "vision_model.embeddings.position_embedding.weight"
    modules = [f"vision_model.{name}" for name in _VISION]
    for layer in range(config.vision_config.num_hidden_layers):
        modules += [f"vision_model.encoder.layers.{layer}.{name}" for name in _VISION_LAYER]
    for module in modules:
        yield from (f"{module}.weight", f"{module}.bias")


def _connector_names(config: Any) -> Iterator[str]:
    """The tensors of a gated projection and a perceiver."""
    yield from _CONNECTOR
    for layer in range(config.perceiver_config.resampler_depth):
        yield from (f"perceiver_resampler.layers.{layer}.{name}.weight" for name in _RESAMPLER_LAYER)
