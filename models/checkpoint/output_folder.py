"""A folder that exists complete or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError

_RESERVE_BYTES = 64 * 1024**2
"""For headers, configuration and tokenizer."""


@contextlib.contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` to write into; it is flushed and becomes `path` when the block ends well.

    A checkpoint that is at `path` already is replaced at that moment; anything else there is a `UserError`.
    """
    path = path.absolute()
    if path.exists() and not (path / "config.json").exists() and not (path / "adapter_config.json").exists():
        raise UserError(f"{path}: exists and is no checkpoint; remove it or choose another --save_path")
    temporary, old = (path.with_name(f".{path.name}.{state}") for state in ("partial", "old"))
    if old.exists() and not path.exists():
        old.rename(path)  # killed between the two renames below
    for leftover in (temporary, old):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        flush(temporary)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise UserError(f"{path}: could not be written ({error.strerror})") from None
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def require_space(folder: Path, num_bytes: int) -> None:
    """`UserError` when the disk of `folder` has no room for `num_bytes` of weights."""
    free = shutil.disk_usage(folder).free
    if num_bytes + _RESERVE_BYTES > free:
        needed, left = (number / 1e9 for number in (num_bytes + _RESERVE_BYTES, free))
        raise UserError(f"{folder.parent}: needs {needed:.1f} GB, but only {left:.1f} GB are free; nothing was written")


def flush(folder: Path) -> None:
    """To the disk: every file in it."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
