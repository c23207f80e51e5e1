"""Whether an encoded image is whole; of a PNG, of which most are, without decoding its pixels."""

import io
from pathlib import Path

from zlib_ng.zlib_ng import crc32  # four to five times as fast as zlib 1.2.13

from common.errors import UserError
from data.images import MAX_PIXELS, PNG, PNG_CHUNK, opened


def check_image(path: Path) -> None:
    """`UserError` or `OSError` when the file is missing, cut, damaged or no image."""
    try:
        check_encoded(path.read_bytes())
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def check_encoded(content: bytes) -> None:
    """`UserError` when it is cut, damaged or no image: the checksums of a PNG's chunks are compared. Others are
    decoded, and PNGs that say something behind their pixels, which readers look at last."""
    if content.startswith(PNG) and _check_png(memoryview(content)) == [b"IDAT", b"IEND"]:
        return
    with opened(io.BytesIO(content)) as image:
        image.load()


def _check_png(content: memoryview) -> list[bytes]:
    """The kinds of the last two chunks. A chunk is its length, kind and data, then a checksum of kind and data (PNG
    specification, section 5.3)."""
    position, kinds = len(PNG), []
    while position + 12 <= len(content):
        length, kind = PNG_CHUNK.unpack_from(content, position)
        end = position + 8 + length
        if content[end : end + 4] != crc32(content[position + 4 : end]).to_bytes(4, "big"):
            raise UserError(f"damaged or cut in the chunk at byte {position}")
        kinds.append(kind)
        position = end + 4
        if kind == b"IEND":
            break
    else:
        raise UserError("cut, a PNG without an end")
    width, height = (int.from_bytes(content[start : start + 4], "big") for start in (16, 20))  # of the header
    if kinds[0] != b"IHDR" or b"IDAT" not in kinds or not 0 < width * height <= MAX_PIXELS:
        raise UserError("a PNG without pixels, or of too many")
    return kinds[-2:]
