"""LLaVA's configuration: read from a Hugging Face folder and checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from common.files import read_json
from models.language import check_text

if TYPE_CHECKING:
    from transformers import LlavaConfig


def read_config(folder: Path) -> "LlavaConfig":
    """The Hugging Face configuration in `folder`.

    Raises:
        UserError: there is none, it is not a LLaVA, or it asks for what this model does not compute.
    """
    path = Path(folder) / "config.json"
    fields = read_json(path)
    if fields.get("model_type") != "llava":
        raise UserError(f"{path}: model_type is {fields.get('model_type')!r}, this is the llava trainer")
    from transformers import LlavaConfig

    config = LlavaConfig.from_dict(fields)
    check_text(path, config.text_config)
    check_vision(path, config)
    return config


def check_vision(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, when the vision tower is no CLIP."""
    kind = config.vision_config.model_type
    if kind != "clip_vision_model":
        raise UserError(f"{path}: its vision tower is a {kind!r}; supported: clip_vision_model")


def feature_layers(config: Any) -> tuple[int, ...]:
    """After how many layers of the tower its features are taken; several are joined to one wide feature."""
    chosen = config.vision_feature_layer
    chosen = (chosen,) if isinstance(chosen, int) else tuple(chosen)
    num_states = config.vision_config.num_hidden_layers + 1
    return tuple(layer % num_states for layer in chosen)
