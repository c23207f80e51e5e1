"""Putting a running Roundup back: its databases through SQLite's own backup, and the files of messages."""

from pathlib import Path

from environments.apps.sqlite import restore_database, restore_files


def restore(seed: Path, state: Path) -> None:
    """Bugs, sessions and files."""
    for name in ("db", "db-session"):
        restore_database(seed / "db" / name, state / "db" / name)
    restore_files(seed / "db" / "files", state / "db" / "files")
