"""SmolVLM2's weight table: Idefics3's."""

from models.idefics3.weights import spellings, weight_table

__all__ = ["spellings", "weight_table"]
