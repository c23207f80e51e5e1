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

_PREFIX = "elcano-ray-"
_LOCK = "lock"


def make_folder() -> Path:
    """One that only this user reads, and that lasts as long as this process."""
    _remove_left()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if lock := _locked(folder):  # else another one that starts took it for a dead one's
            break
    atexit.register(_remove, folder, lock)
    return folder


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
