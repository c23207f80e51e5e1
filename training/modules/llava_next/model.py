"""LLaVA-NeXT: LLaVA whose images are a thumbnail and tiles, put together again without the padding around them."""

from typing import Any

import torch
from transformers.models.llava_next.modeling_llava_next import unpad_image

from models.llava_next.images import grid_shape, num_tiles
from training.modules.llava import model as llava


class Model(llava.Model):
    """A unit is a tile; the first of an image is the whole of it, small."""

    def build_vision(self, hf: Any) -> None:
        super().build_vision(hf)
        self.image_newline = torch.nn.Parameter(torch.empty(hf.text_config.hidden_size))

    def assemble(self, units: torch.Tensor, image_sizes: torch.Tensor) -> torch.Tensor:
        sizes = image_sizes.tolist()
        if not sizes:  # the newline, too, takes part in every backward pass
            return units.flatten(0, 1)[:0] + self.image_newline.to(units.dtype) * 0
        tiles = units.split([num_tiles(self.hf, *size) for size in sizes])
        return torch.cat([self._assemble_one(of_one, *size) for of_one, size in zip(tiles, sizes, strict=True)])

    def _assemble_one(self, tiles: torch.Tensor, height: int, width: int) -> torch.Tensor:
        """Tiles [t, patches, h] -> [features, h]: the thumbnail's, then row by row, each row ended by the newline."""
        rows, columns = grid_shape(self.hf, height, width)
        side = self.hf.vision_config.image_size // self.hf.vision_config.patch_size
        grid = tiles[1:].view(rows, columns, side, side, -1).permute(4, 0, 2, 1, 3)
        image = unpad_image(grid.flatten(1, 2).flatten(2, 3), (height, width))  # [h, rows, columns]
        newline = self.image_newline[:, None, None].expand(*image.shape[:-1], 1).to(image.dtype)
        return torch.cat([tiles[0], torch.cat([image, newline], dim=-1).flatten(1, 2).transpose(0, 1)])
