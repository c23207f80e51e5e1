"""ViP-LLaVA's weight table."""

from typing import Any

from models.llava.weights import spellings, vision_names
from models.weight_table import Weight, copy, language_weights

__all__ = ["spellings", "weight_table"]


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, decoder="language_model.model.", lm_head="language_model.lm_head.weight")
    vision = (copy(f"vision_tower.{name}", f"vision_tower.vision_model.{name}") for name in vision_names(config))
    modules = ("projector_layernorm", "linear_1", "linear_2")
    projector = [f"multi_modal_projector.{name}.{kind}" for name in modules for kind in ("weight", "bias")]
    return [*language, *vision, *(copy(name, name) for name in projector)]
