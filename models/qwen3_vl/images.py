"""How Qwen3-VL's images become patches, and where their features stand for the rotary embedding."""

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from common.errors import UserError
from models import images
from models.images import PAGE, Pixels

_LONGEST = 200  # times the shorter side; the processor takes no longer image


class ImageEncoder(images.ImageEncoder):
    """An image keeps its shape and is one unit, of any number of patches; `merge` squared of them are one feature."""

    mark = "<|image_pad|>"

    def __init__(self, processor: Any, hf: Any) -> None:
        """`UserError` when the processor cuts other patches than the model takes."""
        super().__init__(processor, hf)
        vision, own = hf.vision_config, self.image_processor
        self.patch, self.merge = vision.patch_size, vision.spatial_merge_size
        self.columns = 3 * vision.temporal_patch_size * self.patch**2
        for name, theirs in (("patch_size", self.patch), ("merge_size", self.merge)):
            if getattr(own, name) != theirs:
                raise UserError(f"the image processor's {name} is {getattr(own, name)}, the model's {theirs}")

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether these are the patches of one page."""
        return shape == (self.num_tokens(*PAGE) * self.merge**2, self.columns)

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        """`<|image_pad|>` tokens of an image of this size in pixels."""
        rows, columns = self.grid(height, width)
        return rows * columns

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of features of an image of this size in pixels."""
        if max(height, width) > _LONGEST * min(height, width):
            raise UserError(f"an image of {width}x{height} is more than {_LONGEST} times as long as it is wide")
        size, factor = self.image_processor.size, self.patch * self.merge
        resized = smart_resize(height, width, factor, size["shortest_edge"], size["longest_edge"])
        return resized[0] // factor, resized[1] // factor

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [patches, numbers of a patch], image after image; grid [n, 3]: 1, rows, columns of patches."""
        batch = self.image_processor(images=images, return_tensors="pt")
        return {"pixel_values": batch["pixel_values"], "grid": batch["image_grid_thw"]}

    def part(self, pixels: Pixels, units: slice) -> Pixels:
        """Units are whole images: nothing is to be left out."""
        return pixels

    def position_ids(self, token_ids: torch.Tensor, sizes: Sequence[tuple[int, int]]) -> torch.Tensor:
        """[3, tokens]: time, row and column. Text counts on in all three; an image's features have the time of its
        first, and their rows and columns from there on; what follows counts from behind the larger of both."""
        places = (token_ids == self.token_id).nonzero()[:, 0].tolist()
        parts, done, position, seen = [], 0, 0, 0
        for size in sizes:
            rows, columns = self.grid(*size)
            text = torch.arange(position, position + places[seen] - done)
            position += len(text)
            cell = torch.arange(rows * columns)
            image = torch.stack([torch.zeros_like(cell), cell // columns, cell % columns]) + position
            parts += [text.expand(3, -1), image]
            done, seen = places[seen] + len(cell), seen + len(cell)
            position += max(rows, columns)
        rest = torch.arange(position, position + len(token_ids) - done)
        return torch.cat([*parts, rest.expand(3, -1)], dim=1)
