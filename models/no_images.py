"""What stands in the place of images and of a vision side where a model has none: nothing, which takes no room."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.images import ImageEncoder
from models.vision import VisionSide


class NoImages(ImageEncoder):
    """No text has a mark; the processor refuses the parts of a message that are images."""

    def __init__(self, processor: Any, hf: Any) -> None:
        self.image_processor, self.token_id, self.vocab_size = None, -1, hf.get_text_config().vocab_size

    def num_units(self, height: int, width: int) -> int:
        """None."""
        return 0

    def num_tokens(self, height: int, width: int) -> int:
        """None."""
        return 0

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str:
        """`text` as it is."""
        return text


class NoVision(VisionSide):
    """No layers, no patches."""

    def __init__(self, config: Any) -> None:
        self.config, self.layers, self.hidden, self.intermediate = config, 0, 0, 0

    @property
    def patch_grid(self) -> tuple[int, int]:
        """None."""
        return 0, 0

    @property
    def units_per_image(self) -> int:
        """None."""
        return 0

    @property
    def pixel_bytes(self) -> int:
        """None."""
        return 0

    def connector_bytes(self, each: int) -> int:
        """None."""
        return 0

    def frozen_connector_bytes(self, each: int) -> int:
        """None."""
        return 0

    def attention_flops(self, pixels: Mapping[str, Any]) -> float:
        """None."""
        return 0.0
