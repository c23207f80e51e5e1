"""Putting a running mail server back: the database through SQLite's own backup, the mails as files."""

from pathlib import Path

from environments.apps.mail.settings import DATABASE, MAILS, OUTBOX
from environments.apps.sqlite import restore_database, restore_files


def restore(seed: Path, state: Path) -> None:
    """Everything, with sessions."""
    restore_database(seed / DATABASE, state / DATABASE)
    for name in (MAILS, OUTBOX):
        restore_files(seed / name, state / name)
