"""The folder of a Ray of our own: its token, sockets and logs.

It goes with the process that made it or, where that was killed, when the next one starts: who lives holds its lock.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psutil

from common.errors import UserError

_PREFIX = "elcano-ray-"
_LOCK = "lock"
_SOCKET = f"/{_PREFIX}xxxxxxxx/ray/session_2026-11-25_09-03-21_123456_{os.getpid()}/sockets/plasma_store"
_MOST_BYTES = 107 - len(_SOCKET)
"""Of the folder for temporary ones: Linux takes 107 for a socket's name."""


def make_folder(said: str) -> Path:
    """One that only this user reads, and that lasts as long as this process. `UserError`, which begins with what the
    user `said`, where its name would be too long."""
    _check_length(said)
    _remove_left()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if lock := _locked(folder):  # else another one that starts took it for a dead one's
            break
    atexit.register(_remove, folder, lock)
    return folder


def _check_length(said: str) -> None:
    """Ray's own complaint comes after it has tried twice, and names no folder that one could change."""
    num_bytes = len(os.fsencode(tempfile.gettempdir()))
    if num_bytes > _MOST_BYTES:
        raise UserError(
            f"{said}: the names of Ray's sockets would be too long below {tempfile.gettempdir()}; "
            f"set TMPDIR to a shorter folder, of {_MOST_BYTES} bytes at most, such as /tmp"
        )


def _remove(folder: Path, lock: IO[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _remove_left() -> None:
    """Those of this user's processes that are gone, once what Ray had started for them has ended, too."""
    for folder in _found():
        if lock := _locked(folder):
            with lock:
                if not _is_used(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def _found() -> Iterator[Path]:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is gone by now
            if folder.lstat().st_uid == os.getuid() and folder.is_dir() and not folder.is_symlink():
                yield folder


def _locked(folder: Path) -> IO[str] | None:
    """Its lock, held until it is closed; None where another process has it, or has removed the folder."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        lock = stack.enter_context(open(folder / _LOCK, "a"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock.fileno()).st_nlink:
            stack.pop_all()
            return lock
    return None


def _is_used(folder: Path) -> bool:
    """Ray's processes have it in their command lines. They end up to 90 s after who started them was killed."""
    return any(
        str(folder) in word for process in psutil.process_iter(["cmdline"]) for word in process.info["cmdline"] or ()
    )
