"""What of a LLaVA-NeXT's configuration is supported."""

from pathlib import Path
from typing import Any

from common.errors import UserError
from models.llava import config as llava


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    llava.check(path, config)
    if config.vision_feature_select_strategy != "default":
        raise UserError(f"{path}: vision_feature_select_strategy must be default: tiles have no class token")
