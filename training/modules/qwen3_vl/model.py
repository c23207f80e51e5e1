"""Qwen3-VL: the Hugging Face tower and mergers in front of a Qwen3, whose first layers see the tower's inner ones."""

from typing import Any

import torch
from megatron.core import parallel_state
from torch.nn import functional
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel
from transformers.vision_utils import (
    get_vision_cu_seqlens,
    get_vision_interpolation_indices_and_weights,
    get_vision_position_ids,
)

from training.modules.batching import Images, Pixels, image_share
from training.modules.collectives import AllGather
from training.modules.vision_language import VisionLanguageModel


class Tower(Qwen3VLVisionModel):
    """The tower without its mergers."""

    _input_embed_layer = "patch_embed"  # transformers warns of a tower that does not say so

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # we alone call it
        self, pixel_values: torch.Tensor, grid: torch.Tensor
    ) -> torch.Tensor:
        """[patches, numbers of a patch] and [n, 3] -> [1 + deepstack, patches, hidden]: the last layer's and those of
        the layers that mergers read, in the order of the layers."""
        merge, patches = self.spatial_merge_size, self.patch_embed.proj
        places, weights = get_vision_interpolation_indices_and_weights(
            grid,
            num_grid_per_side=self.num_grid_per_side,
            mode=self.interpolation_mode,
            align_corners=self.interpolation_align_corners,
            spatial_merge_size=merge,
        )
        # As a matrix product: cuDNN before 9.15 makes garbage of this convolution with torch 2.9.1.
        hidden = functional.linear(pixel_values, patches.weight.flatten(1), patches.bias)
        hidden = hidden + (self.pos_embed(places) * weights[:, :, None]).sum(1).to(hidden.dtype)
        angles = self.rotary_pos_emb(hidden, get_vision_position_ids(grid, merge))
        ends = get_vision_cu_seqlens(grid)
        read = []
        for number, block in enumerate(self.blocks):
            hidden = block(hidden, cu_seqlens=ends, position_embeddings=angles)
            if number in self.deepstack_visual_indexes:
                read.append(hidden)
        return torch.stack([hidden, *read])


class Mergers(torch.nn.Module):
    """One for the language model's input, then those of deepstack."""

    def __init__(self, tower: Qwen3VLVisionModel) -> None:
        """Takes them out of `tower`."""
        super().__init__()
        self.merger, self.deepstack_merger_list = tower.merger, tower.deepstack_merger_list
        taps = list(tower.deepstack_visual_indexes)
        self.order = [taps.index(layer) for layer in sorted(set(taps))]
        del tower.merger, tower.deepstack_merger_list

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[1 + deepstack, patches, hidden] -> [features, h * (1 + deepstack)]."""
        mergers = [self.merger, *(self.deepstack_merger_list[number] for number in self.order)]
        return torch.cat([merger(states) for merger, states in zip(mergers, hidden, strict=True)], dim=-1)


class Model(VisionLanguageModel):
    """A unit is an image, of any number of patches."""

    def build_vision(self, hf: Any) -> None:
        hf.vision_config._attn_implementation = "sdpa"
        self.visual = Tower(hf.vision_config)
        self.connector = Mergers(self.visual)

    def blank_pixels(self, device: Any) -> Pixels:
        vision = self.hf.vision_config
        merge, columns = (
            vision.spatial_merge_size,
            vision.in_channels * vision.temporal_patch_size * vision.patch_size**2,
        )
        grid = torch.tensor([[1, merge, merge]], device=device)
        return {"pixel_values": torch.zeros(merge**2, columns, device=device), "grid": grid}

    def run_tower(self, pixels: Pixels) -> torch.Tensor:
        return self.visual(pixel_values=pixels["pixel_values"].to(self.visual.dtype), grid=pixels["grid"])

    def run_connector(self, hidden: torch.Tensor, pixels: Pixels) -> torch.Tensor:
        return self.connector(hidden)

    def gather(self, units: torch.Tensor, images: Images) -> torch.Tensor:
        """Ranks have features [n, h * (1 + deepstack)] in different numbers, a blank image's one at the least."""
        group = parallel_state.get_tensor_and_context_parallel_group()
        shares = [image_share(images.num_units, rank, group.size()) for rank in range(group.size())]
        counts = [sum(images.num_features[number] for number in share) for share in shares]
        padding = units.new_zeros(max(1, *counts) - units.size(0), units.size(1))
        gathered = AllGather.apply(torch.cat([units, padding]), group).chunk(group.size())
        return torch.cat([part[:count] for part, count in zip(gathered, counts, strict=True)])
