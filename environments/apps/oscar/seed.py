"""A new shop with our content (`content.py`)."""

import dataclasses
from pathlib import Path

from environments.apps.django_project import lifecycle
from environments.apps.oscar import content

_PROJECT, _SHARED = "project", "../django_project"
CONTENT = (
    *("check.py", "content.py", "seed.py"),
    *(f"{_PROJECT}/{name}.py" for name in ("settings", "urls", "filling")),
    *(f"{_SHARED}/{name}.py" for name in ("common_settings", "fill")),
)


def build(program: Path, state: Path) -> None:
    """At `state`, which is not there yet."""
    lifecycle.build(program, state, Path(__file__).parent, dataclasses.asdict(content.make()))
