"""ViP-LLaVA's vision side: the common one."""

from models.vision import VisionSide

__all__ = ["VisionSide"]
