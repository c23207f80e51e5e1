"""Putting a running mail server back: the database through SQLite's own backup, and of the mails what differs."""

import filecmp
import shutil
from pathlib import Path

from environments.apps.mail.settings import DATABASE, MAILS, OUTBOX
from environments.apps.sqlite import restore_database


def restore(seed: Path, state: Path) -> None:
    """Everything, with sessions."""
    restore_database(seed / DATABASE, state / DATABASE)
    for name in (MAILS, OUTBOX):
        _restore_folder(seed / name, state / name)


def _restore_folder(seed: Path, state: Path) -> None:
    """A mail's file is never written twice, and most are as they were."""
    wanted = {path.relative_to(seed): path for path in seed.rglob("*")}
    for path in sorted(state.rglob("*"), reverse=True):  # what lies in a folder before the folder
        if path.relative_to(state) not in wanted:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, source in sorted(wanted.items()):
        target = state / name
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif not target.exists() or not filecmp.cmp(source, target):
            shutil.copy2(source, target)
