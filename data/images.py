"""Encoded images of others: PNG, JPEG or WebP of a bounded size, or a refusal; and what a model is shown of one.

That is what Hugging Face's processors make of a file: turned as its EXIF or XMP data say (their `load_image`), and what
is transparent over white (their `convert_to_rgb`). Colour profiles and all but the first picture of an animation are
left out, and gray of 16 bits is cut off at 255, as there.
"""

import contextlib
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 50_000_000
"""A PNG of a few kilobytes can hold a billion pixels; 50 million take 150 MB in RGB."""
warnings.filterwarnings("ignore", message="Image size .* could be decompression bomb")  # the limit here is lower
_STRIP_PIXELS = 2**22
_UPRIGHT = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""EXIF's Orientation -> the number of Pillow's `Transpose` that undoes it."""
_ON_THEIR_SIDE = (5, 6, 7, 8)
PNG, PNG_CHUNK = b"\x89PNG\r\n\x1a\n", struct.Struct(">I4s")
"""How a PNG begins, and the head of a chunk of it: its length and kind; behind its data stand four more bytes."""
_FORMATS = ("PNG", "JPEG", "WEBP")  # Pillow knows sixty, of which EPS runs Ghostscript


@contextlib.contextmanager
def opened(file: Any) -> Iterator["Image.Image"]:
    """The image that a path or binary file holds, its header read; whatever breaks on it within the block is a
    `UserError`, which names a path."""
    from PIL import Image  # imported here: a conversion of PNGs does without

    where = f"{file}: " if isinstance(file, str | Path) else ""
    try:
        with Image.open(file, formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise UserError(f"{where}an image of {image.width}x{image.height} pixels is too large")
            yield image
    except UserError:
        raise
    except Exception as error:  # Pillow raises many kinds on broken files
        raise UserError(f"{where}an image is not a readable PNG, JPEG or WebP ({type(error).__name__})") from None


def size_of(image: "Image.Image") -> tuple[int, int]:
    """(height, width) in pixels as it is shown, by its header."""
    return image.size if _orientation(image) in _ON_THEIR_SIDE else (image.height, image.width)


def to_rgb(image: "Image.Image") -> "Image.Image":
    """What a model is shown of it; itself where that is all."""
    from PIL import Image

    turn = _UPRIGHT.get(_orientation(image))
    image.load()
    if image.has_transparency_data:
        image = _over_white(image)
    rgb = image if image.mode == "RGB" else image.convert("RGB")  # which would copy it
    return rgb if turn is None else rgb.transpose(Image.Transpose(turn))


def _over_white(image: "Image.Image") -> "Image.Image":
    """In strips: of 50 million pixels each copy takes 200 MB, and whole ones would be three."""
    from PIL import Image

    made, num_rows = Image.new("RGB", image.size), max(1, _STRIP_PIXELS // image.width)
    for top in range(0, image.height, num_rows):
        strip = image.crop((0, top, image.width, min(image.height, top + num_rows))).convert("RGBA")
        made.paste(Image.alpha_composite(Image.new("RGBA", strip.size, "white"), strip).convert("RGB"), (0, top))
    return made


def _orientation(image: "Image.Image") -> int:
    """A PNG's own `getexif` decodes all pixels to look behind them: only where something stands there."""
    from PIL import ExifTags, Image

    told = image.getexif() if _tells_behind_pixels(image) else Image.Image.getexif(image)
    return told.get(ExifTags.Base.Orientation, 1)


def _tells_behind_pixels(image: "Image.Image") -> bool:
    """Whether a PNG of which only the header was read has chunks behind its pixels, such as ImageMagick's eXIf."""
    file = getattr(image, "fp", None)
    if image.format != "PNG" or file is None:
        return False
    here, position, kinds = file.tell(), len(PNG), [b""]
    while kinds[-1] != b"IEND":
        file.seek(position)
        head = file.read(PNG_CHUNK.size)
        if len(head) < PNG_CHUNK.size:
            break
        length, kind = PNG_CHUNK.unpack(head)
        position += length + PNG_CHUNK.size + 4
        kinds.append(kind)
    file.seek(here)
    return b"IDAT" in kinds and kinds[-2:] != [b"IDAT", b"IEND"]
