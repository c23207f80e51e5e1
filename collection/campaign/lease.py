"""Who works on which task: collectors that share an output folder never take one task twice.

One file, `.lock`; a task is one byte of it, at an offset made from its id. The kernel gives the byte to one process and
takes it back when that process ends, however it ends, also over NFS. Nothing to clean up, no clocks to compare.
"""

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from common.errors import UserError

LOCK_NAME = ".lock"


class Leases:
    """The leases of this process in one output folder. POSIX locks: one object a folder and process."""

    def __init__(self, file: IO[str]):
        self._file = file

    def take(self, key: str, shared: bool = False) -> bool:
        """Whether it is ours now; False when another process has it. `shared` minds only those who want it alone."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, _offset(key))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give_back(self, key: str) -> None:
        """Let others have it."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _offset(key))


@contextmanager
def leases(output_dir: Path) -> Iterator[Leases]:
    """Make the folder where needed; everything is given back at the end.

    Raises:
        UserError: the folder cannot be written.
    """
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        file = open(output_dir / LOCK_NAME, "a+")  # noqa: SIM115, closed below
    except OSError as error:
        raise UserError(f"--output_dir {output_dir} cannot be written: {error.strerror}") from None
    with file:
        yield Leases(file)


def _offset(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest())
