"""What applications with an SQLite database have in common."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

BUSY_TIMEOUT_S = 10.0


def restore_database(seed: Path, state: Path) -> None:
    """The content of one in place of another's, page by page: connections that are open there see it. A copied file
    they would not."""
    target = sqlite3.connect(state, timeout=BUSY_TIMEOUT_S)
    with contextlib.closing(_open(seed)) as source, contextlib.closing(target):
        target.execute("PRAGMA synchronous = OFF")  # nobody needs it after a power cut
        source.backup(target)


def restore_files(seed: Path, state: Path) -> None:
    """A folder as it was."""
    if state.exists() and (seed.exists() is False or any(path.is_file() for path in state.rglob("*"))):
        shutil.rmtree(state)
    if seed.exists() and not state.exists():
        shutil.copytree(seed, state)


def rows(database: Path, kind: str, query: str) -> list[dict[str, Any]]:
    """The rows of a query as records of this kind; what is missing is ""."""
    with contextlib.closing(_open(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [
            {"kind": kind, **{name: "" if row[name] is None else row[name] for name in row.keys()}}  # noqa: SIM118
            for row in connection.execute(query)
        ]


def _open(path: Path) -> sqlite3.Connection:
    """To read. SQLite may write: a server that was killed leaves what it had half written to be taken back."""
    connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_S)
    connection.execute("PRAGMA query_only = ON")
    return connection
