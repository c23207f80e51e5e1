"""What of a ViP-LLaVA's configuration is supported."""

from pathlib import Path
from typing import Any

from models.language import check_text


def check(path: Path, config: Any) -> None:
    """`UserError`, naming the file `path`, for what this model does not compute."""
    check_text(path, config.text_config)
