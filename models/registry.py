"""Which model families there are. To add one: a line of `NAMES`, and the folder that models/family.py describes.

Importing it costs nothing.
"""

import importlib
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from models.family import Family

NAMES = (
    "idefics2",
    "idefics3",
    "smolvlm",
    "llava",
    "llava_next",
    "qwen2_5_vl",
    "qwen3_vl",
    "llama",
    "qwen2",
    "qwen3",
    "glm",
)


def named(name: str) -> Family:
    """The family of a `model_type` in `NAMES`."""
    return importlib.import_module(f"models.{name}.family").FAMILY


def family_of(config: Any) -> Family:
    """The family of a Hugging Face configuration."""
    return named(config.model_type)


def family(folder: Path) -> Family:
    """The family of the Hugging Face files in `folder`; `UserError` for one that is not supported."""
    path = Path(folder) / "config.json"
    name = read_object(path).get("model_type")
    if name not in NAMES:
        raise UserError(f"{path}: model_type is {name!r}; supported: {', '.join(NAMES)}")
    return named(name)
