"""Damaged pictures: whoever looks at one, before a run, in it or behind a server, says the same of it."""

import base64
import collections
import random
import struct
import zlib
from collections.abc import Callable

import pytest

from common.errors import UserError
from data.image_check import check_encoded, check_whole, decoded
from data.images import PNG
from server.engine.model.wire_images import from_data_urls
from tests.models.drawn_pictures import chunks_of, drawn, with_pixels, written
from training.samples.pictures import read_picture


def flipped(content: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(content))
    return content[:position] + bytes([content[position] ^ rng.randrange(1, 256)]) + content[position + 1 :]


def unknown_filter(rng: random.Random, png: bytes) -> bytes:
    return with_pixels(png, lambda packed: zlib.compress(b"\x09" + zlib.decompress(packed)[1:]))


def other_header(rng: random.Random, png: bytes) -> bytes:
    (_, header), *rest = chunks_of(png)
    return written([(b"IHDR", flipped(header, rng)), *rest])


DAMAGES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "a bit of the packed pixels": lambda rng, png: with_pixels(png, lambda packed: flipped(packed, rng)),
    "packed pixels that end early": lambda rng, png: with_pixels(png, lambda packed: packed[: rng.randrange(60)]),
    "fewer pixels": lambda rng, png: with_pixels(png, lambda packed: zlib.compress(zlib.decompress(packed)[:-9])),
    "more pixels": lambda rng, png: with_pixels(png, lambda packed: zlib.compress(zlib.decompress(packed) + bytes(9))),
    "a filter that nobody knows": unknown_filter,
    "another header": other_header,
    "no pixels": lambda rng, png: written([one for one in chunks_of(png) if one[0] != b"IDAT"]),
    "its chunks in another order": lambda rng, png: written(rng.sample(found := chunks_of(png), len(found))),
    "one chunk's content": lambda rng, png: written(
        [(kind, flipped(data, rng) if data and rng.random() < 0.5 else data) for kind, data in chunks_of(png)]
    ),
    "a bit anywhere": lambda rng, png: flipped(png, rng),
    "an end that is cut": lambda rng, png: png[: -rng.randrange(1, 40)],
}


def said(read: Callable[[], object]) -> str:
    """What is wrong; "" where nothing is."""
    try:
        read()
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("damage", DAMAGES)
def test_survey_trainer_and_server_say_the_same(damage: str) -> None:
    rng, counts = random.Random(damage), collections.Counter()
    for name, picture in drawn(0):
        is_png = picture.startswith(PNG)
        if not is_png and damage not in ("a bit anywhere", "an end that is cut"):
            continue
        for _ in range(4):
            content = DAMAGES[damage](rng, picture)
            fault = said(lambda content=content: check_encoded(content))
            assert fault == said(lambda content=content: decoded(content)), name
            url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
            assert fault == said(lambda url=url: from_data_urls([url])[0].load()), name
            trained = said(lambda content=content: read_picture("s", content).decode("s"))
            assert trained == (fault and f"sample s: broken image ({fault}); make the shards again"), name
            counts[bool(fault)] += 1
            assert "\n" not in fault and len(fault) < 200
    assert counts[True] or damage == "more pixels"  # which no reader looks at


def test_whole_pictures_are_taken() -> None:
    for _, picture in drawn(0):
        check_encoded(picture)
        check_whole(picture)
        decoded(picture)


def test_a_cut_picture_is_no_whole_one() -> None:
    """Wherever it ends; said in the words of those who decode it."""
    for name, picture in drawn(0):
        for end in range(0, len(picture), max(1, len(picture) // 40)):
            whole = said(lambda content=picture[:end]: check_whole(content))
            assert whole == said(lambda content=picture[:end]: check_encoded(content)), f"{name}, {end} bytes"


def test_whole_is_what_decodes_and_no_bomb() -> None:
    rng = random.Random(0)
    for _, picture in drawn(0):
        content = flipped(picture, rng)
        if not said(lambda content=content: check_encoded(content)):
            check_whole(content)
    wide = with_size(picture, 10_000, 8_000)
    assert "too large" in said(lambda: check_whole(wide))


def with_size(png: bytes, width: int, height: int) -> bytes:
    (_, header), *rest = chunks_of(png)
    return written([(b"IHDR", struct.pack(">II", width, height) + header[8:]), *rest])
