"""What of a Qwen3-VL's configuration is supported."""

from pathlib import Path
from typing import Any

from common.errors import UserError
from models.language import check_text, mrope_section


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    check_common(path, config, text_kind="qwen3_vl_text")
    text, vision = config.text_config, config.vision_config
    taps = vision.deepstack_visual_indexes
    fit = all(0 <= layer < vision.depth for layer in taps) and len(set(taps)) == len(taps) <= text.num_hidden_layers
    if not fit:
        raise UserError(
            f"{path}: deepstack_visual_indexes {list(taps)} do not fit the layers of tower and language model"
        )


def check_common(path: Path, config: Any, text_kind: str) -> None:
    """What is asked of every Qwen-VL."""
    text, vision = config.text_config, config.vision_config
    check_text(path, text, kinds=(text_kind,))
    section = mrope_section(text)
    if section is None or len(section) != 3 or 2 * sum(section) != text.head_dim:
        raise UserError(
            f"{path}: mrope_section is {section}; three parts of head_dim / 2 = {text.head_dim // 2} are needed"
        )
    if vision.out_hidden_size != text.hidden_size:
        raise UserError(f"{path}: out_hidden_size is {vision.out_hidden_size}, but hidden_size {text.hidden_size}")
