"""What of a LLaVA's configuration is supported."""

from pathlib import Path
from typing import Any

from common.errors import UserError
from models.language import check_text


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    check_text(path, config.text_config)
    kind = config.vision_config.model_type
    if kind != "clip_vision_model":
        raise UserError(f"{path}: its vision tower is a {kind!r}; supported: clip_vision_model")


def feature_layers(config: Any) -> tuple[int, ...]:
    """After how many layers of the tower its features are taken; several are joined to one wide feature."""
    chosen = config.vision_feature_layer
    chosen = (chosen,) if isinstance(chosen, int) else tuple(chosen)
    num_states = config.vision_config.num_hidden_layers + 1
    return tuple(layer % num_states for layer in chosen)
