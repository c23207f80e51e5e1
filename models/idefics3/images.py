"""How Idefics3's images become tiles, and the text that stands for them."""

import math
from typing import Any

from PIL import Image

from common.errors import UserError
from models import images
from models.idefics3.config import features_of_tile
from models.images import PAGE, Pixels

_FENCE = "<fake_token_around_image>"
_LARGEST = 4096  # the processor's own limit


class ImageEncoder(images.ImageEncoder):
    """An image is scaled to whole tiles, which come row by row and then the whole of it, small; each is a unit."""

    def __init__(self, processor: Any, hf: Any) -> None:
        """`UserError` when the processor writes another number of `<image>` tokens than a tile has features."""
        super().__init__(processor, hf)
        self.features, self.tile = features_of_tile(hf), hf.vision_config.image_size
        if processor.image_seq_len != self.features:
            raise UserError(
                f"the processor's image_seq_len is {processor.image_seq_len}, but a tile has {self.features} features"
            )

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether these are squares of the tower's size."""
        return shape == (self.num_units(*PAGE), 3, self.tile, self.tile)

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels: the tiles and the whole, or the whole alone."""
        return 1 + math.prod(self.grid(height, width))

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return self.features * self.num_units(height, width)

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of tiles of an image of this size in pixels; (0, 0) of one that is not split.

        The sizes that Hugging Face's processor really makes; its `get_number_of_image_patches` rounds others up.
        """
        if not self.image_processor.do_image_splitting:
            return 0, 0
        height, width = _scaled(height, width, self.image_processor.size["longest_edge"], even=True)
        if max(height, width) > _LARGEST:
            height, width = _scaled(height, width, _LARGEST)
        num_tiles = math.ceil(max(height, width) / self.tile)
        rows, columns = (math.ceil(side / self.tile) for side in _scaled(height, width, num_tiles * self.tile))
        return (0, 0) if rows == columns == 1 else (rows, columns)

    def spell(self, height: int, width: int) -> str:
        """As Hugging Face's processor: every tile behind its place, a row a line, then the whole."""
        features = self.mark * self.features
        rows, columns = self.grid(height, width)
        lines = [
            "".join(f"{_FENCE}<row_{row + 1}_col_{column + 1}>{features}" for column in range(columns)) + "\n"
            for row in range(rows)
        ]
        return "".join([*lines, "\n" if lines else "", f"{_FENCE}<global-img>{features}{_FENCE}"])

    def process(self, image: Image.Image) -> Any:
        """pixel_values [1, units, 3, tile, tile] and their pixel_attention_mask."""
        return self.image_processor(images=[[image]], return_tensors="pt")

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [units, 3, tile, tile], image after image."""
        return {"pixel_values": self.image_processor(images=[images], return_tensors="pt")["pixel_values"][0]}


def _scaled(height: int, width: int, longest: int, even: bool = False) -> tuple[int, int]:
    """(height, width) whose longer one becomes `longest`, rounded as the processor rounds, the other one up to `even`
    numbers."""
    aspect = width / height
    other = int(longest / aspect) if width >= height else int(longest * aspect)
    other = max(1, other + other % 2 if even else other)
    return (other, longest) if width >= height else (longest, other)
