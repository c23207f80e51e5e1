"""SmolVLM2's images: Idefics3's."""

from models.idefics3.images import ImageEncoder

__all__ = ["ImageEncoder"]
