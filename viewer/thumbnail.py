"""A small picture of a page, made once however many look."""

import io
from collections.abc import Callable, Hashable

from common.errors import UserError
from data.images import opened

_SIDE = 256  # pixels, or a little more
_MAX_PIXELS = 8_000_000
_MOST = 64
_made: dict[Hashable, bytes] = {}


def thumbnail(file: Hashable, read: Callable[[], bytes]) -> bytes:
    """JPEG of what `read` gives, a PNG; `file` is another one after each change.

    Raises:
        UserError: it is no PNG that can be read, or larger than a screen.
    """
    if (kept := _made.get(file)) is None:
        kept = _made[file] = _small(read())
        for oldest in list(_made)[:-_MOST]:
            _made.pop(oldest, None)
    return kept


def _small(png: bytes) -> bytes:
    with opened(io.BytesIO(png)) as image:
        if image.width * image.height > _MAX_PIXELS:
            raise UserError("the picture is too large for the wall")
        small = image.reduce(max(1, max(image.size) // _SIDE)).convert("RGB")
    made = io.BytesIO()
    small.save(made, "JPEG")
    return made.getvalue()
