"""Whether the end of a path that was written on another machine stands for an image here.

It must not show the wrong picture: where `a/1.png` and `b/1.png` are meant, `1.png` in a folder that holds `a` is not
`b/1.png`. What stands before the end is therefore the same for all images of a folder. Of a path from a root it may be
anything; of another it ends as the folder is called, and the folder holds nothing of that name.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.shown.terminal import printable


@dataclasses.dataclass
class _Found:
    """In one folder: what stood before the ends, how many were found so, and the first (path, end)."""

    before: tuple[str, ...]
    example: tuple[str, str]
    count: int = 0


_by_folder: dict[Path, _Found] = {}


def stands_for(folder: Path, parts: tuple[str, ...], start: int, is_rooted: bool) -> bool:
    """Whether `parts[start:]`, which is a file in `folder`, is the image at `parts`.

    Raises:
        UserError: it is, and images before were taken for others.
    """
    before, own = parts[:start], folder.absolute().parts
    if own[len(own) - start :] == before:
        before = ()  # the folder's own path
    elif not is_rooted and before[-1:] != own[-1:]:
        return False
    if not is_rooted and (folder / parts[0]).exists():
        return False
    path, end = "/".join(parts), "/".join(parts[start:])
    found = _by_folder.setdefault(folder, _Found(before, (path, end)))
    if found.before != before:
        if found.before and found.before[-1:] != own[-1:] and before[-1:] in ((), own[-1:]):
            raise UserError(
                f"{folder}: {path} is {end} there, and {found.example[0]} was taken for {found.example[1]}, which it "
                "cannot be; give the folder that holds both"
            )
        return False
    found.count += 1
    return True


@contextlib.contextmanager
def ends_told(view: Path | None = None) -> Iterator[None]:
    """Paths in the block are looked at by themselves; then a line for each folder where ends were found. Below `view`
    the folders stand with their whole paths."""
    before = {**_by_folder}
    _by_folder.clear()
    try:
        yield
        for folder, found in _by_folder.items():
            named = Path("/", folder.relative_to(view)) if view and folder.is_relative_to(view) else folder
            path, end = found.example
            line = f"{named}: {found.count} paths of images found there by their ends, as {end} for {path}"
            print(printable(line), file=sys.stderr)
    finally:
        _by_folder.clear()
        _by_folder.update(before)
