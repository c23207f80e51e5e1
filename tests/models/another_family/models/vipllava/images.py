"""How ViP-LLaVA's images become what its vision tower takes."""

from collections.abc import Sequence
from typing import Any

import torch

from models import images


class ImageEncoder(images.ImageEncoder):
    """Every image is one unit, cut to a square. Positions count from 7, which a rotary embedding cannot tell from 0
    unless a reply's do not go on from them."""

    mark = "<picture>"

    def __init__(self, processor: Any, hf: Any) -> None:
        super().__init__(processor, hf)
        self.patches = (hf.vision_config.image_size // hf.vision_config.patch_size) ** 2

    def num_units(self, height: int, width: int) -> int:
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        return self.patches

    def position_ids(self, token_ids: torch.Tensor, sizes: Sequence[tuple[int, int]]) -> torch.Tensor:
        return torch.arange(7, 7 + len(token_ids))[None]
