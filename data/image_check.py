"""Whether an encoded image of others is whole, and what it shows: survey, trainer and server refuse the same images in
the same words.

Of a PNG, of which most are, the packed bytes alone are looked at: where their checksums are right and they unpack to
what the header promises, the image decodes. That takes a tenth of the time; all others are decoded.
"""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zlib_ng import zlib_ng
from zlib_ng.zlib_ng import crc32  # four to five times as fast as zlib 1.2.13

from common.errors import UserError
from data.images import PNG, PNG_CHUNK, opened, size_of, to_rgb

if TYPE_CHECKING:
    from PIL import Image

_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
_LAST_FILTER = 4
"""Each row of a PNG begins with the number of a filter (its specification, section 9.2)."""


def check_image(path: Path) -> None:
    """`UserError` or `OSError` when the file is missing, cut, damaged or no image."""
    try:
        check_encoded(path.read_bytes())
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def check_encoded(content: bytes) -> None:
    """`UserError` where `decoded` raises it."""
    with _header(content) as image:
        if not _unpacks(image, _check_png(content)):
            to_rgb(image)


def decoded(content: bytes) -> "Image.Image":
    """What a model is shown of an encoded image; `UserError` when it is cut, damaged or no image."""
    with _header(content) as image:
        _check_png(content)
        return to_rgb(image)


@contextlib.contextmanager
def _header(content: bytes) -> Iterator["Image.Image"]:
    """Its header alone read, first of all, as whoever needs only its size does."""
    with opened(io.BytesIO(content)) as image:
        size_of(image)
        yield image


def _check_png(content: bytes) -> list[tuple[bytes, memoryview]]:
    """The chunks of a PNG, none of others: kind and data, behind which stands a checksum of both (PNG specification,
    section 5.3). `UserError` where one is not right, or the end is missing."""
    view, position, chunks = memoryview(content), len(PNG), []
    at_end = not content.startswith(PNG)
    while not at_end:
        if position + 12 > len(view):
            raise UserError("cut, a PNG without an end")
        length, kind = PNG_CHUNK.unpack_from(view, position)
        begin, end = position + PNG_CHUNK.size, position + PNG_CHUNK.size + length
        if bytes(view[end : end + 4]) != crc32(view[position + 4 : end]).to_bytes(4, "big"):
            raise UserError(f"damaged or cut in the chunk at byte {position}")
        chunks.append((kind, view[begin:end]))
        position, at_end = end + 4, kind == b"IEND" and length == 0
    return chunks


def _unpacks(image: "Image.Image", chunks: list[tuple[bytes, memoryview]]) -> bool:
    """Whether it is a plain PNG, whose pixels unpack to what its header promises."""
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or b"IDAT" not in kinds or b"acTL" in kinds:
        return False
    depth, _, *ways = chunks[0][1][8:13]
    is_plain = image.mode in _CHANNELS and depth == 8 and not any(ways) and "transparency" not in image.info
    if not is_plain or {*kinds[kinds.index(b"IDAT") :]} != {b"IDAT", b"IEND"}:
        return False
    row = 1 + image.width * _CHANNELS[image.mode]
    unpack = zlib_ng.decompressobj()
    try:
        pixels = unpack.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"), row * image.height + 1)
    except zlib_ng.error:  # pyright: ignore[reportGeneralTypeIssues]  # its stub calls the class an instance
        return False
    return unpack.eof and len(pixels) == row * image.height and max(pixels[::row]) <= _LAST_FILTER
