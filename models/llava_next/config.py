"""LLaVA-NeXT's configuration: read from a Hugging Face folder and checked."""

from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from common.files import read_json
from models.language import check_text
from models.llava.config import check_vision

if TYPE_CHECKING:
    from transformers import LlavaNextConfig


def read_config(folder: Path) -> "LlavaNextConfig":
    """The Hugging Face configuration in `folder`.

    Raises:
        UserError: there is none, it is not a LLaVA-NeXT, or it asks for what this model does not compute.
    """
    path = Path(folder) / "config.json"
    fields = read_json(path)
    if fields.get("model_type") != "llava_next":
        raise UserError(f"{path}: model_type is {fields.get('model_type')!r}, this is the llava_next trainer")
    from transformers import LlavaNextConfig

    config = LlavaNextConfig.from_dict(fields)
    check_text(path, config.text_config)
    check_vision(path, config)
    if config.vision_feature_select_strategy != "default":
        raise UserError(f"{path}: vision_feature_select_strategy must be default: tiles have no class token")
    return config
