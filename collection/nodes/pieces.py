"""A folder's files in batches of bounded size, however many files it has and however large they are.

Their times go with them: those of screenshots say when steps began, which `elcano plan` reads.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

BATCH_BYTES = 96_000
"""Ray sends a reply below 100 KB straight to who asked, and stores no copy of it."""
AHEAD = 2
"""Batches of a trajectory that a node sends before the first was written."""

Piece = tuple[str, bytes, int]
"""A file's path in the folder, what it goes on with, and when it was last changed (nanoseconds since 1970)."""


def batches(folder: Path) -> Iterator[list[Piece]]:
    """All files, one after another; without downloads that Chromium deletes meanwhile, as it was still at them."""
    batch: list[Piece] = []
    room = BATCH_BYTES
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, is_new = str(path.relative_to(folder)), True
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            changed_ns = os.fstat(file.fileno()).st_mtime_ns
            while (data := file.read(room)) or is_new:
                batch.append((name, data, changed_ns))
                room, is_new = room - len(data), False
                if not room:
                    yield batch
                    batch, room = [], BATCH_BYTES
    if batch:
        yield batch


def write(folder: Path, batch: Sequence[Piece]) -> None:
    """Add a batch to a folder that was empty before the first."""
    for name, data, changed_ns in batch:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(data)
        os.utime(path, ns=(changed_ns, changed_ns))
