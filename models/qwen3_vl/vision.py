"""Qwen3-VL's vision side: units are images of any number of patches."""

from collections.abc import Mapping
from typing import Any

from models import vision
from models.images import PAGE


class VisionSide(vision.VisionSide):
    """Mergers connect it: one for the language model's input, one for each inner layer that reaches a decoder layer.

    Forward FLOPs, by patches N of an image: depth * ((8 H^2 + 4 H I) * N + 4 H * N^2), and of the mergers
    (1 + deepstack) * N / 4 * (2 (4H)^2 + 2 * 4H * out), without the patch embedding (Megatron-Bridge's rule).
    """

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Of a page, which the published processor leaves as large as it is."""
        return PAGE[0] // self.config.vision_config.patch_size, PAGE[1] // self.config.vision_config.patch_size

    @property
    def pixel_bytes(self) -> int:
        """Of a page, whose frames come in pairs that are the same."""
        return 3 * PAGE[0] * PAGE[1] * self.config.vision_config.temporal_patch_size * 4

    def connector_bytes(self, each: int) -> int:
        """Of each merger: what is normalized, the first layer's output before and after its activation, the feature."""
        merged = self.config.text_config.hidden_size // self.config.vision_config.spatial_merge_size**2
        return each * (1 + len(self.config.vision_config.deepstack_visual_indexes)) * (3 * self.hidden + merged)

    def attention_flops(self, pixels: Mapping[str, Any]) -> float:
        """Of the tower's attention, which stays within an image."""
        patches = pixels["grid"].prod(-1).double()
        return float(self.layers * 4.0 * self.hidden * (patches**2).sum())
