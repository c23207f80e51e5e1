"""How LLaVA's images become what its vision tower takes."""

from collections.abc import Sequence
from typing import Any

from PIL import Image

from data.conversation import IMAGE
from training.models.batching import Pixels
from training.models.images import repeat_marks
from training.models.llava.config import num_patches


class ImageEncoder:
    """Every image is one unit: scaled, cut to a square, one feature for each patch."""

    def __init__(self, processor: Any, hf: Any) -> None:
        self.image_processor = processor.image_processor
        self.patches = num_patches(hf)

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return self.patches

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str:
        """`text` in which each `<image>` stands once for every feature."""
        return repeat_marks(self, IMAGE, text, sizes)

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [n, 3, size, size]."""
        return {"pixel_values": self.image_processor(images=images, return_tensors="pt")["pixel_values"]}
