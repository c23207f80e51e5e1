"""Putting a running MediaWiki back: its databases through SQLite's own backup."""

from pathlib import Path

from environments.apps.mediawiki.settings import CACHE, DATABASE
from environments.apps.sqlite import restore_database


def restore(seed: Path, state: Path) -> None:
    """Everything, with sessions and caches."""
    for name in (DATABASE, CACHE):
        restore_database(seed / name, state / name)
