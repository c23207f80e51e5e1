"""How files come into an export, and how the whole of it appears, in one move."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.full_disk import writing_to


def place(source: Path | bytes, target: Path) -> None:
    """A copy, so that neither changes with the other; one that is there already has the same name for a reason."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, bytes):
        target.write_bytes(source)
        return
    if not target.exists():
        shutil.copyfile(source, target)


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write in, which becomes `target` when the block ends well; else nothing is left.

    Raises:
        UserError: something is there.
    """
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"--out_dir {target}: something is there; give another folder")
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed run left
    with writing_to(target):
        try:
            temporary.mkdir(parents=True)
            yield temporary
            shutil.rmtree(target, ignore_errors=True)
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
