"""Whether a picture of others is one, whole and of a bounded size, before anything is made of it."""

import functools
from pathlib import Path

from common.errors import UserError
from data.image_check import check_encoded
from data.shards.shard import image_type


def check_picture(where: str, image: Path | bytes) -> None:
    """`UserError` that names `where` and the file when it is empty, cut, damaged, too large or none."""
    try:
        if isinstance(image, bytes):
            _check(image)
        else:
            stat = image.stat()
            _check_file(image, stat.st_size, stat.st_mtime_ns)
    except UserError as error:
        raise UserError(f"{where}: {f'{image}: ' if isinstance(image, Path) else ''}{error}") from None


@functools.lru_cache(maxsize=2**14)
def _check_file(path: Path, num_bytes: int, changed: int) -> None:
    """Several samples show a file, which is looked at once."""
    _check(path.read_bytes())


def _check(content: bytes) -> None:
    if not content:
        raise UserError("empty, not an image")
    image_type(content)
    check_encoded(content)
