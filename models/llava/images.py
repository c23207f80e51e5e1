"""How LLaVA's images become what its vision tower takes."""

from typing import Any

from models import images


class ImageEncoder(images.ImageEncoder):
    """Every image is one unit: scaled, cut to a square, one feature for each patch."""

    def __init__(self, processor: Any, hf: Any) -> None:
        super().__init__(processor, hf)
        self.patches, self.size = num_patches(hf), hf.vision_config.image_size

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether these are one square of the tower's size."""
        return shape == (1, 3, self.size, self.size)

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return self.patches


def num_patches(config: Any) -> int:
    """Features of one image, or one tile, that the connector sees; the class token counts where it is kept."""
    side = config.vision_config.image_size // config.vision_config.patch_size
    return side * side + (config.vision_feature_select_strategy == "full")
