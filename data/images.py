"""Encoded images of others: PNG, JPEG or WebP of a bounded size, or a refusal."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from common.errors import UserError

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 50_000_000
"""A PNG of a few kilobytes can hold a billion pixels; 50 million take 150 MB in RGB."""
warnings.filterwarnings("ignore", message="Image size .* could be decompression bomb")  # the limit here is lower
_FORMATS = ("PNG", "JPEG", "WEBP")  # Pillow knows sixty, of which EPS runs Ghostscript


@contextlib.contextmanager
def opened(file: Any) -> Iterator["Image.Image"]:
    """The image that a path or binary file holds, its header read; whatever breaks on it within the block is a
    `UserError`."""
    from PIL import Image  # imported here: a conversion of PNGs does without

    try:
        with Image.open(file, formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise UserError(f"an image of {image.width}x{image.height} pixels is too large")
            yield image
    except UserError:
        raise
    except Exception as error:  # Pillow raises many kinds on broken files
        raise UserError(f"an image is not a readable PNG, JPEG or WebP ({type(error).__name__})") from None
