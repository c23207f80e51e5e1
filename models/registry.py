"""Which models there are. A family is named by `model_type` in config.json and lives in a folder of that name.

Importing this costs nothing: each part of a family is imported when it is asked for.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json

NAMES = ("idefics2", "llava", "llava_next")


@dataclasses.dataclass(frozen=True)
class Family:
    """The parts of `models/<name>/`; its Megatron model is in `training/modules/<name>/`."""

    name: str

    @property
    def read_config(self) -> Callable[[Path], Any]:
        """The checked Hugging Face configuration of a folder."""
        return self._module("config").read_config

    @property
    def weight_table(self) -> Callable[[Any], list[Any]]:
        """Every weight of a configuration."""
        return self._module("weights").weight_table

    @property
    def spellings(self) -> Callable[[str], Iterator[str]]:
        """A tensor's name in the table -> its names over the versions of transformers."""
        return self._module("weights").spellings

    @property
    def image_encoder_class(self) -> type:
        """How a rank prepares the images it encodes."""
        return self._module("images").ImageEncoder

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"models.{self.name}.{name}")


def family(folder: Path) -> Family:
    """The family of the Hugging Face files in `folder`; `UserError` for one that is not supported."""
    path = Path(folder) / "config.json"
    name = read_json(path).get("model_type")
    if name not in NAMES:
        raise UserError(f"{path}: model_type is {name!r}; supported: {', '.join(NAMES)}")
    return Family(name)
