"""A disk without room: what its errors look like, whoever raises them, and the one line that they become."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError

_FULL = {errno.ENOSPC: "no space left on device", errno.EDQUOT: "disk quota exceeded", errno.EFBIG: "file too large"}
_OF_TORCH = ("unexpected pos", "PytorchStreamWriter failed writing")
"""What torch.save says of it: that it is not where it should be in its file."""

_PROBED_BYTES = 1 << 20


class FullDiskError(UserError):
    """There is no room for what was to be written."""


def why_full(error: BaseException) -> str:
    """In words, where a disk without room is the cause of `error`; else "". Libraries wrap the system's error, or keep
    its text alone."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OSError) and one.errno in _FULL:
            return _FULL[one.errno]
        if isinstance(one, FullDiskError) or not isinstance(one, UserError):
            said = str(one).lower().replace("database or disk is full", _FULL[errno.ENOSPC])  # SQLite's words
            if found := next((words for words in _FULL.values() if words in said), ""):
                return found
            if any(words in str(one) for words in _OF_TORCH):
                return _FULL[errno.ENOSPC]
        todo += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return ""


def full_disk_error(error: BaseException, folder: Path | None = None) -> UserError | None:
    """The line for the user, which names the file where that is known, else `folder`; None where something else is
    wrong."""
    if isinstance(error, UserError) or not (why := why_full(error)):
        return None
    named = getattr(error, "filename2", None) or getattr(error, "filename", None)  # of a copy the second is written
    where = named or folder
    return FullDiskError(f"{f'{where}: ' if where else ''}{why}; make room and run the same command again")


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Around what writes to `folder`: a write that fails names no file."""
    try:
        yield
    except Exception as error:
        if full := full_disk_error(error, folder):
            raise full from error
        raise


def is_full(folder: Path) -> bool:
    """Whether `folder` takes no megabyte more: what other ranks of a run ran into, one does not learn."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBED_BYTES))
            file.flush()
            os.fsync(file.fileno())
        return False
    except OSError as error:
        return error.errno in _FULL
