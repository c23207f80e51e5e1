"""What happens to files: bits flip, ends are cut off, parts are doubled, lost or overwritten; and what people do to
them: values of other kinds, endless nesting, content that unpacks to gigabytes."""

import functools
import gzip
import io
import json
import random
import struct
import zipfile
import zlib
from typing import Any

_TELLING = (0, 1, 127, 128, 255)  # the edges of numbers
_BOMB_BYTES = 2**29
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**70, 1e308, float("nan"), float("inf"), 1.5),
    *("", "x", "../x", "/etc/passwd", "\ud800", "a\nb\x1b[2J", "x" * 100_000),
    *([], {}, [None], [[]], [1, "a"], {"a": None}, {"": 1}),
)


def damaged(content: bytes, drawn: random.Random) -> bytes:
    """`content` with one kind of damage, somewhere; half of the time near its end, where many formats keep an index."""
    if not content:
        return bytes(drawn.randrange(256) for _ in range(drawn.randrange(1, 20)))
    return drawn.choice((_flipped, _overwritten, _cut, _doubled, _stuttering, _with_a_gap))(bytearray(content), drawn)


def hostile(content: bytes, drawn: random.Random) -> bytes:
    """`content` with a value of another kind where it is JSON or JSON lines; else, and now and then, another file."""
    if drawn.random() < 0.15:
        return drawn.choice(_OTHERS)()
    try:
        return _with_another_value(content, drawn)
    except ValueError:
        return damaged(content, drawn)


def _place(content: bytearray, drawn: random.Random) -> int:
    return drawn.randrange(drawn.choice((0, max(0, len(content) - 1000))), len(content))


def _flipped(content: bytearray, drawn: random.Random) -> bytes:
    for _ in range(drawn.choice((1, 1, 2, 8))):
        content[_place(content, drawn)] ^= 1 << drawn.randrange(8)
    return bytes(content)


def _overwritten(content: bytearray, drawn: random.Random) -> bytes:
    for _ in range(drawn.choice((1, 2, 8))):
        content[_place(content, drawn)] = drawn.choice((*_TELLING, drawn.randrange(256)))
    return bytes(content)


def _cut(content: bytearray, drawn: random.Random) -> bytes:
    return bytes(content[: drawn.randrange(len(content))])


def _doubled(content: bytearray, drawn: random.Random) -> bytes:
    return bytes(content * 2)


def _stuttering(content: bytearray, drawn: random.Random) -> bytes:
    start = _place(content, drawn)
    part = content[start : start + drawn.randrange(1, 40)]
    return bytes(content[:start] + part + content[start:])


def _with_a_gap(content: bytearray, drawn: random.Random) -> bytes:
    start = _place(content, drawn)
    return bytes(content[:start] + content[start + drawn.randrange(1, 40) :])


def _with_another_value(content: bytes, drawn: random.Random) -> bytes:
    """`ValueError` where it is no JSON."""
    text = content.decode(json.detect_encoding(content))
    try:
        return json.dumps(_changed(json.loads(text), drawn)).encode()
    except ValueError:
        lines = text.splitlines()
        at = drawn.randrange(max(1, len(lines)))
        lines[at : at + 1] = [json.dumps(_changed(json.loads("\n".join(lines[at : at + 1])), drawn))]
        return "\n".join(lines).encode()


def _changed(value: Any, drawn: random.Random) -> Any:
    """Somewhere in it a value is another one, is gone, or stands twice."""
    if not isinstance(value, list | dict) or not value or drawn.random() < 0.15:
        return drawn.choice(_VALUES)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = drawn.choice(list(keys))
    if drawn.random() < 0.15:
        del value[key]
    elif isinstance(value, list) and drawn.random() < 0.1:
        value.append(value[key])
    else:
        value[key] = _changed(value[key], drawn)
    return value


@functools.cache
def _gzip_bomb() -> bytes:
    return gzip.compress(bytes(_BOMB_BYTES), 1)


@functools.cache
def _zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("archive/data.pkl", bytes(_BOMB_BYTES))
    return file.getvalue()


@functools.cache
def _png_bomb() -> bytes:
    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(2**20))), (b"IEND", b""))
    written = (struct.pack(">I", len(body)) + kind + body + _crc(kind + body) for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def _crc(content: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(content))


_OTHERS = (
    _gzip_bomb,
    _zip_bomb,
    _png_bomb,
    lambda: b"",
    lambda: b"[" * 100_000,
    lambda: b'{"a":' * 100_000,
    lambda: b'{"number": ' + b"9" * 5000 + b"}",
    lambda: b"\xff\xfe\x00",
    lambda: bytes(100_000),
    lambda: b"null",
    lambda: b"<html><body>404</body></html>",
)
