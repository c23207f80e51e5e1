"""What of an Idefics3's configuration is supported."""

from pathlib import Path
from typing import Any

from common.errors import UserError
from models.language import check_text


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    check_text(path, config.text_config)
    side = config.vision_config.image_size // config.vision_config.patch_size
    if side % config.scale_factor:
        raise UserError(
            f"{path}: a tile has {side} patches a side, which scale_factor={config.scale_factor} does not divide"
        )


def features_of_tile(config: Any) -> int:
    """Features of a tile: squares of `scale_factor` patches a side are one each (pixel shuffle)."""
    return (config.vision_config.image_size // config.vision_config.patch_size // config.scale_factor) ** 2
