"""Putting a running Fossil back: its one file through SQLite's own backup."""

from pathlib import Path

from environments.apps.fossil.start import REPOSITORY
from environments.apps.sqlite import restore_database


def restore(seed: Path, state: Path) -> None:
    """Everything."""
    restore_database(seed / REPOSITORY, state / REPOSITORY)
