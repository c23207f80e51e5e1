"""A small picture of a page, made once however many look."""

import io
from collections.abc import Callable, Hashable

from PIL import Image

from common.errors import UserError

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
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise UserError("the picture is too large for the wall")
            small = image.reduce(max(1, max(image.size) // _SIDE)).convert("RGB")
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise UserError(f"not a picture: {type(error).__name__}") from None
    made = io.BytesIO()
    small.save(made, "JPEG")
    return made.getvalue()
