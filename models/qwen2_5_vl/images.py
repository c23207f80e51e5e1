"""Qwen2.5-VL's images: Qwen3-VL's, of other patches."""

from models.qwen3_vl.images import ImageEncoder

__all__ = ["ImageEncoder"]
