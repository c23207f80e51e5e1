"""SmolVLM2's vision side: Idefics3's."""

from models.idefics3.vision import VisionSide

__all__ = ["VisionSide"]
