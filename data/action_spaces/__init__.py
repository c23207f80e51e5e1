"""Action spaces, one a file: `data/action_spaces/<name>.py` holds a `SPACE`, and nothing else knows its name."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError

if TYPE_CHECKING:
    from data.action_spaces.space import ActionSpace

NUMBERS = "webvoyager"
_PARTS = ("__init__", "space", "tool_calls", "translate")


def action_space_names() -> list[str]:
    """All there are."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _PARTS)


def action_space(name: str) -> "ActionSpace":
    """By its name; `UserError` where there is none."""
    if name not in action_space_names():
        raise UserError(f"there is no action space {name!r}; known are {', '.join(action_space_names())}")
    return importlib.import_module(f"data.action_spaces.{name}").SPACE


def known_space(provenance: Mapping[str, Any]) -> "ActionSpace":
    """What a trajectory's replies are written in; of other projects' own words, which nothing here reads, `NUMBERS`."""
    name = provenance.get("action_space")
    return action_space(name if name in action_space_names() else NUMBERS)
