"""A disk of a few kilobytes: a tmpfs of its own, which root alone may mount."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, num_kilobytes: int) -> Iterator[Path]:
    """An empty one at `folder`; the test is skipped where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={num_kilobytes}k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here (root may)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, leave_kilobytes: int) -> None:
    """Leave so much room on the disk of `folder`."""
    with open(folder / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    size = (folder / "filler").stat().st_size
    with open(folder / "filler", "r+b") as file:
        file.truncate(max(0, size - leave_kilobytes * 1024))
