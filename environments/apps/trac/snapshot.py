"""Putting a running Trac back: its database through SQLite's own backup, which open connections see."""

from pathlib import Path

from environments.apps.sqlite import restore_database, restore_files


def restore(seed: Path, state: Path) -> None:
    """Database and attachments."""
    restore_database(seed / "db" / "trac.db", state / "db" / "trac.db")
    restore_files(seed / "files", state / "files")
