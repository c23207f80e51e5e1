"""LLaVA-NeXT's weight table: LLaVA's and the embedding that ends every row of an image."""

from typing import TYPE_CHECKING

from models.llava import weights as llava
from models.llava.weights import spellings
from models.weight_table import Weight, copy

if TYPE_CHECKING:
    from transformers import LlavaNextConfig

__all__ = ["spellings", "weight_table"]


def weight_table(config: "LlavaNextConfig") -> list[Weight]:
    """Every weight of the model, once."""
    return [*llava.weight_table(config), copy("image_newline", "image_newline")]
