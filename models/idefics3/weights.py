"""Idefics3's weight table: idefics2's tower, and one projection as connector."""

from typing import Any

from models.idefics2.weights import spellings, tower_names
from models.weight_table import Weight, copy, language_weights

__all__ = ["spellings", "weight_table"]


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    language = language_weights(config, decoder="model.text_model.", lm_head="lm_head.weight")
    vision = (*tower_names(config), "connector.modality_projection.proj.weight")
    return [*language, *(copy(name, f"model.{name}") for name in vision)]
