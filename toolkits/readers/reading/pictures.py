"""Whether a picture of others is one, whole and of a bounded size, before anything is made of it.

GIF, BMP and TIFF become PNG, which loses nothing. Of several pictures in one the first counts, as in data/images.py.
"""

import contextlib
import functools
import io
from pathlib import Path, PurePosixPath

from common.errors import UserError
from data.image_check import check_encoded
from data.images import MAX_PIXELS
from data.shards.shard import image_type

_OTHERS = {b"GIF8": ("GIF", ".gif"), b"BM": ("BMP", ".bmp"), b"II*\0": ("TIFF", ".tif"), b"MM\0*": ("TIFF", ".tif")}
"""How they begin, and the ending of their names."""
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""The pixels that a PNG holds as they are."""


def begins_as_other(head: bytes, named: str) -> str:
    """The kind of a picture that `as_png` makes PNG, or "". Whose name says another kind is broken."""
    kind, own = next((found for begin, found in _OTHERS.items() if head.startswith(begin)), ("", ""))
    return kind if kind and PurePosixPath(named.lower()).suffix.replace(".tiff", ".tif") in ("", own) else ""


def begins_as_image(content: bytes) -> bool:
    """Whether bytes may be a picture at all: those of a table may be anything."""
    with contextlib.suppress(UserError):
        return bool(image_type(content))
    return bool(begins_as_other(content, ""))


def as_png(where: str, content: bytes, named: str) -> bytes:
    """A GIF, BMP or TIFF as PNG, anything else as it is. `named`: what the picture was called, or "".

    Raises:
        UserError: it is damaged, too large, or of pixels that a PNG does not hold.
    """
    if not (kind := begins_as_other(content, named)):
        return content
    from PIL import Image  # imported here: most data has none of these

    buffer = io.BytesIO()
    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            if image.width * image.height > MAX_PIXELS or image.mode not in _MODES:
                raise ValueError
            image.save(buffer, "PNG", save_all=False)
    except Exception as error:  # Pillow raises many kinds on broken files
        said = f"an image is neither PNG, JPEG nor WebP, nor a {kind} that can become one ({type(error).__name__})"
        raise UserError(f"{where}: {said}") from None
    return buffer.getvalue()


def named_as_png(named: str) -> str:
    """The name of what `as_png` made."""
    path = PurePosixPath(named)
    return str(path.with_suffix(".png")) if path.suffix.lower() in (".gif", ".bmp", ".tif", ".tiff") else named


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
