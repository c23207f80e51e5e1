"""The one way to a file of what was opened: no link is followed, and nothing larger than asked is read."""

import contextlib
import errno
import os
import stat
from pathlib import Path

from common.errors import UserError
from data.names import check_name

MAX_BYTES = 32 * 2**20


def is_plain(name: str) -> bool:
    """Whether a name from disk can be shown and asked for: text without control characters, not too long."""
    try:
        check_name("", name)
    except UserError:
        return False
    return True


def read(folder: Path, name: str, most: int = MAX_BYTES, only_head: bool = False) -> bytes | None:
    """A file of a folder that was found, or its first `most` bytes; None where it is missing.

    Raises:
        UserError: it is a link, no file, or larger than `most` bytes; or the folder may not be opened.
    """
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise UserError(f"the folder cannot be read ({error.strerror})") from None
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({error.strerror}); links are not followed") from None
    finally:
        os.close(directory)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise UserError(f"{name}: not a file")
    with open(handle, "rb") as file:
        if status.st_size > most and not only_head:
            raise UserError(f"{name}: {status.st_size >> 20} MiB, too large to show")
        return file.read(most)


def plain_folders(folder: Path) -> list[Path]:
    """Its folders that are no links, sorted; [] where there is no such folder."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and is_plain(entry.name)]
    except OSError:
        return []
    return [Path(path) for path in sorted(found)]


def inner_folder(folder: Path, *names: str) -> Path | None:
    """One below a folder that was found; None where it is not there, or a link stands on the way."""
    for name in names:
        folder /= name
        if not is_folder(folder) or folder.is_symlink():
            return None
    return folder


def is_folder(path: Path) -> bool:
    """Whether one is there, as far as may be seen."""
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False


def is_file(path: Path) -> bool:
    """Whether one is there, as far as may be seen."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False
