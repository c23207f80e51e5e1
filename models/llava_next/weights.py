"""LLaVA-NeXT's weight table: LLaVA's and the embedding that ends every row of an image."""

from typing import Any

from models.llava import weights as llava
from models.llava.weights import spellings
from models.weight_table import Weight, copy

__all__ = ["spellings", "weight_table"]


def weight_table(config: Any) -> list[Weight]:
    """Every weight of the model, once."""
    return [*llava.weight_table(config), copy("image_newline", "image_newline")]
