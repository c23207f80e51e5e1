"""Qwen2.5-VL: the Hugging Face tower and merger in front of a Qwen2.5."""

from typing import Any

import torch
from torch.nn import functional
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel
from transformers.vision_utils import get_vision_cu_seqlens, get_vision_position_ids, get_vision_window_index

from training.modules.qwen3_vl import model as qwen3_vl


class Tower(Qwen2_5_VisionTransformerPretrainedModel):
    """The tower without its merger."""

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # we alone call it
        self, pixel_values: torch.Tensor, grid: torch.Tensor
    ) -> torch.Tensor:
        """[patches, numbers of a patch] and [n, 3] -> [patches, hidden], in the order of the patches."""
        merge, side = self.spatial_merge_size, self.patch_size
        assert isinstance(side, int)
        order, window_ends = get_vision_window_index(grid, merge, self.window_size, side)
        # As a matrix product: cuDNN before 9.15 makes garbage of this convolution with torch 2.9.1.
        hidden = functional.linear(pixel_values, self.patch_embed.proj.weight.flatten(1))
        angles = self.rotary_pos_emb(hidden, get_vision_position_ids(grid, merge))
        hidden, *angles = (self._ordered(one, order) for one in (hidden, *angles))
        ends = get_vision_cu_seqlens(grid)
        for number, block in enumerate(self.blocks):
            own = ends if number in self.fullatt_block_indexes else window_ends
            hidden = block(hidden, cu_seqlens=own, position_embeddings=tuple(angles))
        return self._ordered(hidden, order.argsort())

    def _ordered(self, rows: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        """[patches, ...]: the patches of a feature stay together, features come in `order`."""
        return rows.unflatten(0, (-1, self.spatial_merge_unit))[order].flatten(0, 1)


class Merger(torch.nn.Module):
    """What makes features of patches, taken out of the tower."""

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.merger = tower.merger
        del tower.merger

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[patches, hidden] -> [features, h]."""
        return self.merger(hidden)


class Model(qwen3_vl.Model):
    """A unit is an image, of any number of patches."""

    def build_vision(self, hf: Any) -> None:
        hf.vision_config._attn_implementation = "sdpa"
        self.visual = Tower(hf.vision_config)
        self.connector = Merger(self.visual)
