"""What of a Qwen2.5-VL's configuration is supported."""

from pathlib import Path
from typing import Any

from models.language import refuse_window
from models.qwen3_vl.config import check_common


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    text = config.text_config
    text.head_dim = text.hidden_size // text.num_attention_heads  # which its files never say
    check_common(path, config, text_kind="qwen2_5_vl_text")
    refuse_window(path, text)
