"""Qwen3-VL's vision side: units are images of any number of patches."""

from collections.abc import Mapping
from typing import Any

import torch

from models import vision
from models.images import PAGE


class VisionSide(vision.VisionSide):
    """Mergers connect it: one for the language model's input, one for each inner layer that reaches a decoder layer.

    Forward FLOPs, by patches N of an image: depth * ((8 H^2 + 4 H I) * N + 4 H * N^2), and of the mergers
    (1 + deepstack) * N / 4 * (2 (4H)^2 + 2 * 4H * out), without the patch embedding (Megatron-Bridge's rule).
    """

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Of a page, whose size the published processor only rounds to whole features."""
        merge = self.config.vision_config.spatial_merge_size
        factor = self.config.vision_config.patch_size * merge
        return round(PAGE[0] / factor) * merge, round(PAGE[1] / factor) * merge

    @property
    def pixel_bytes(self) -> int:
        """Of a page, whose frames come in pairs that are the same."""
        vision = self.config.vision_config
        return 3 * self.patches * vision.patch_size**2 * vision.temporal_patch_size * 4

    def connector_bytes(self, each: int) -> int:
        """Of each merger: what is normalized, the first layer's output before and after its activation, the feature."""
        merged = self.config.text_config.hidden_size // self.config.vision_config.spatial_merge_size**2
        taps = getattr(self.config.vision_config, "deepstack_visual_indexes", ())
        return each * (1 + len(taps)) * (3 * self.hidden + merged)

    def image_flops(self, images: Any, height: int, width: int) -> float:
        """Of the tower's layers in a forward pass over an image of this size in pixels; `images` knows its `grid`."""
        merge = self.config.vision_config.spatial_merge_size
        grid = torch.tensor([[1, *(merge * side for side in images.grid(height, width))]])
        return self.linear_flops * int(grid.prod()) + self.attention_flops({"grid": grid})

    def attention_flops(self, pixels: Mapping[str, Any]) -> float:
        """Of the tower's attention, which stays within an image."""
        patches = pixels["grid"].prod(-1).double()
        return float(self.layers * 4.0 * self.hidden * (patches**2).sum())
