"""Numbers of a family's vision side: for the dry run, the loader's memory and the FLOPs of a step."""

import math
from collections.abc import Mapping
from typing import Any

from models.images import ImageEncoder

_FLOAT = 4  # bytes of a pixel's number


class VisionSide:
    """By default: units that are squares, a transformer over their patches, and a connector of two linear layers."""

    def __init__(self, config: Any) -> None:
        """`config`: the model's Hugging Face configuration."""
        self.config = config
        vision = config.vision_config
        self.layers = vision.depth if hasattr(vision, "depth") else vision.num_hidden_layers  # Qwen-VL's name
        self.hidden, self.intermediate = vision.hidden_size, vision.intermediate_size

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of patches of a unit: a square, as the published recipes make of every page. A processor
        that keeps the shape of the page (docs/reference/models.md) makes fewer.
        """
        side = self.config.vision_config.image_size // self.config.vision_config.patch_size
        return side, side

    @property
    def patches(self) -> int:
        """Of a unit."""
        return math.prod(self.patch_grid)

    @property
    def units_per_image(self) -> int:
        """The most."""
        return 1

    @property
    def pixel_bytes(self) -> int:
        """Of a unit, as the loader prepares it."""
        return 3 * self.config.vision_config.image_size**2 * _FLOAT

    def connector_bytes(self, each: int) -> int:
        """What the connector's backward pass keeps of a patch, of numbers of `each` bytes."""
        return each * (self.hidden + 2 * self.config.text_config.hidden_size)

    def frozen_connector_bytes(self, each: int) -> int:
        """The most that its forward pass holds of a patch at once where it learns nothing."""
        return self.connector_bytes(each)

    @property
    def linear_flops(self) -> float:
        """Of the tower's layers in a forward pass over a patch, without attention: 8 H^2 + 4 H I in each."""
        return self.layers * (8.0 * self.hidden**2 + 4.0 * self.hidden * self.intermediate)

    def image_flops(self, images: ImageEncoder, height: int, width: int) -> float:
        """Of the tower's layers in a forward pass over an image of this size in pixels; by default its units are as
        large as `patch_grid`."""
        attention = self.layers * 4.0 * self.hidden * self.patches**2
        return images.num_units(height, width) * (self.linear_flops * self.patches + attention)

    def attention_flops(self, pixels: Mapping[str, Any]) -> float:
        """Of the tower's attention in a forward pass over `pixels`, which only says shapes; projections are counted
        where they run."""
        values = pixels.get("pixel_values")
        if values is None:
            return 0.0
        height, width = values.shape[-2:]
        num_units = math.prod(values.shape[:-3])
        patches = height * width // self.config.vision_config.patch_size**2
        return num_units * self.layers * 4.0 * self.hidden * patches**2
