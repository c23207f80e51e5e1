"""Qwen2.5-VL's vision side: Qwen3-VL's, with attention within windows in most layers."""

from collections.abc import Mapping
from typing import Any

from transformers.vision_utils import get_vision_window_index

from models.qwen3_vl import vision


class VisionSide(vision.VisionSide):
    """One merger connects it."""

    @property
    def linear_flops(self) -> float:
        """Of the tower's layers in a forward pass over a patch, without attention; it gates its feed-forward."""
        return self.layers * (8.0 * self.hidden**2 + 6.0 * self.hidden * self.intermediate)

    def attention_flops(self, pixels: Mapping[str, Any]) -> float:
        """Of the tower's attention, within an image in some layers and within windows of it in the others."""
        own, grid = self.config.vision_config, pixels["grid"]
        ends = get_vision_window_index(grid, own.spatial_merge_size, own.window_size, own.patch_size)[1]
        whole = len(own.fullatt_block_indexes)
        pairs = whole * (grid.prod(-1) ** 2).sum() + (self.layers - whole) * (ends.diff().long() ** 2).sum()
        return float(4.0 * self.hidden * pairs)
