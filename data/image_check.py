"""Whether an encoded image of others is whole, and what it shows: survey, trainer and server refuse the same images in
the same words.

Of a plain PNG, as most are, the packed bytes alone are looked at: where their checksums are right and they unpack to
what the header promises, the image decodes. That takes a tenth of the time; all others are decoded. Whoever copies
images from place to place asks `check_whole`, which decodes nothing that is all there.
"""

import contextlib
import io
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zlib_ng import zlib_ng
from zlib_ng.zlib_ng import crc32  # four to five times as fast as zlib 1.2.13

from common.errors import UserError
from data.images import MAX_PIXELS, PNG, PNG_CHUNK, opened, size_of, to_rgb

if TYPE_CHECKING:
    from PIL import Image

_CHANNELS = {0: 1, 4: 2, 2: 3, 6: 4}
"""Of the kinds of pixels that a PNG's header numbers (its specification, section 11.2.1) but those of a palette."""
_PLAIN = {b"IHDR": 13, b"sRGB": 1, b"gAMA": 4, b"pHYs": 9, b"IEND": 0}
"""Chunks that have these sizes and change nothing in the pixels."""
_PNG_HEAD, _PNG_SIZE = PNG + PNG_CHUNK.pack(13, b"IHDR"), struct.Struct(">II")
_JPEG, _JPEG_END, _JPEG_SCAN = b"\xff\xd8\xff", b"\xd9", b"\xda"
_JPEG_FRAMES = {bytes([kind]) for kind in range(0xC0, 0xD0)} - {b"\xc4", b"\xc8", b"\xcc"}
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""The next mark behind compressed pixels, but for those that restart them; a 255 in them has a 0 behind it."""
_PIECE = 2**15
"""Packed bytes that are unpacked at once: what is large is given back to the system and cleared by it each time."""
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
    if not _says(_is_plain, content):
        with _header(content) as image:
            if not _unpacks(_check_png(content)):
                to_rgb(image)


def check_whole(content: bytes) -> None:
    """`UserError` where an image is none, cut or too large, or a PNG's checksums are wrong. What its compressed pixels
    say is not looked at."""
    if not _says(_is_whole, content):
        check_encoded(content)


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


def _unpacks(chunks: list[tuple[bytes, memoryview]]) -> bool:
    """Whether they are those of a PNG without a palette, whose pixels unpack to what its header promises."""
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or kinds.count(b"IHDR") > 1 or b"IDAT" not in kinds or {b"acTL", b"tRNS"} & {*kinds}:
        return False
    depth, color, *ways = chunks[0][1][8:13]
    if depth != 8 or color not in _CHANNELS or any(ways) or {*kinds[kinds.index(b"IDAT") :]} != {b"IDAT", b"IEND"}:
        return False
    width, height = _PNG_SIZE.unpack_from(chunks[0][1])
    row, packed = 1 + width * _CHANNELS[color], (data for kind, data in chunks if kind == b"IDAT")
    unpack, position, end = zlib_ng.decompressobj(), 0, (1 + width * _CHANNELS[color]) * height
    try:
        for data in packed:
            for begin in range(0, len(data), _PIECE):
                pixels = unpack.decompress(data[begin : begin + _PIECE], end + 1 - position)
                filters = pixels[-position % row :: row]
                position += len(pixels)
                if position > end or max(filters, default=0) > _LAST_FILTER:
                    return False
    except zlib_ng.error:  # pyright: ignore[reportGeneralTypeIssues]  # its stub calls the class an instance
        return False
    return unpack.eof and position == end


def _says(look: Callable[[bytes], bool], content: bytes) -> bool:
    """What is wrong with others is told by those who decode them."""
    try:
        return look(content)
    except UserError:
        return False


def _is_plain(content: bytes) -> bool:
    """Whether it is a PNG that decodes, by its bytes alone: Pillow's look at the header takes longer than all this."""
    if not _has_png_header(content):
        return False
    chunks = _check_png(content)
    return all(kind == b"IDAT" or len(data) == _PLAIN.get(kind) for kind, data in chunks) and _unpacks(chunks)


def _is_whole(content: bytes) -> bool:
    """Whether its headers say so; where they do not, it may be one all the same."""
    if _has_png_header(content):
        return bool(_check_png(content))
    if content.startswith(_JPEG):
        return _jpeg_ends(content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        with _header(content):
            return len(content) >= 8 + int.from_bytes(content[4:8], "little")
    return False


def _has_png_header(content: bytes) -> bool:
    """First of all its chunks, and of a size that is taken."""
    return content.startswith(_PNG_HEAD) and _is_taken(*_PNG_SIZE.unpack(content[16:24].ljust(8, b"\0")))


def _is_taken(width: int, height: int) -> bool:
    return 0 < width * height <= MAX_PIXELS


def _jpeg_ends(content: bytes) -> bool:
    """Whether its segments lead to an end mark (ISO 10918-1, annex B), and it has a size that is taken."""
    position, is_taken = len(_JPEG) - 1, False
    while content[position : position + 1] == b"\xff":
        kind, body = content[position + 1 : position + 2], content[position + 2 : position + 9]
        if kind == _JPEG_END:
            return is_taken
        if len(body) < 7:
            break
        if kind in _JPEG_FRAMES:
            is_taken = _is_taken(int.from_bytes(body[5:7], "big"), int.from_bytes(body[3:5], "big"))
        position += 2 + int.from_bytes(body[:2], "big")
        if kind == _JPEG_SCAN:
            found = _SCAN_END.search(content, position)
            position = found.start() if found else len(content)
    return False
