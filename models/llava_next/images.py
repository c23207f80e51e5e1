"""How LLaVA-NeXT's images become tiles, and how many features are left of them."""

from typing import Any

import torch
from PIL import Image
from transformers.image_processing_utils import select_best_resolution

from common.errors import UserError
from models import images
from models.images import PAGE, Pixels


class ImageEncoder(images.ImageEncoder):
    """An image is a thumbnail and the tiles of the grid that wastes the least of it; every one of them is a unit."""

    def __init__(self, processor: Any, hf: Any) -> None:
        super().__init__(processor, hf)
        self.hf = hf

    def check(self) -> None:
        """Also the grids of tiles: each of the two sides counts by its own."""
        own, model = (sorted(map(list, of.image_grid_pinpoints)) for of in (self.image_processor, self.hf))
        if own != model:
            raise UserError(f"the image processor's image_grid_pinpoints are {own}, config.json's {model}")
        super().check()

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether these are squares of the tower's size."""
        size = self.hf.vision_config.image_size
        return shape == (self.num_units(*PAGE), 3, size, size)

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return num_tiles(self.hf, height, width)

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return num_features(self.hf, height, width)

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [tiles, 3, size, size], image after image."""
        return {"pixel_values": torch.cat([self.process(image)["pixel_values"][0] for image in images])}


def grid_shape(hf: Any, height: int, width: int) -> tuple[int, int]:
    """(rows, columns) of tiles of an image of this size in pixels."""
    best = select_best_resolution((height, width), hf.image_grid_pinpoints)
    size = hf.vision_config.image_size
    return best[0] // size, best[1] // size


def num_tiles(hf: Any, height: int, width: int) -> int:
    """The thumbnail and the tiles."""
    rows, columns = grid_shape(hf, height, width)
    return 1 + rows * columns


def num_features(hf: Any, height: int, width: int) -> int:
    """Features of an image: the thumbnail's, and each row of the grid without padding and with its newline."""
    side = hf.vision_config.image_size // hf.vision_config.patch_size
    rows, columns = (count * side for count in grid_shape(hf, height, width))
    if width / height > columns / rows:  # bands above and below
        rows -= (rows - int(round(height * (columns / width), 7))) // 2 * 2
    else:
        columns -= (columns - int(round(width * (rows / height), 7))) // 2 * 2
    return side * side + rows * (columns + 1)
