"""LLaVA's vision side: the common one, an image is a unit."""

from models.vision import VisionSide

__all__ = ["VisionSide"]
