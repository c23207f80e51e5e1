"""A new conference with our content (`content.py`)."""

import dataclasses
from pathlib import Path

from environments.apps.django_project import lifecycle
from environments.apps.pretalx import content

CONTENT = (
    *("check.py", "content.py", "seed.py", "project/filling.py", "project/settings.py"),
    *("../django_project/common_settings.py", "../django_project/fill.py"),
)


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`."""
    lifecycle.build(program, state, Path(__file__).parent, dataclasses.asdict(content.make()))
