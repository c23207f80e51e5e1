"""What happens to files: bits flip, ends are cut off, parts are doubled, lost or overwritten."""

import random

_TELLING = (0, 1, 127, 128, 255)  # the edges of numbers


def damaged(content: bytes, drawn: random.Random) -> bytes:
    """`content` with one kind of damage, somewhere; half of the time near its end, where many formats keep an index."""
    if not content:
        return bytes(drawn.randrange(256) for _ in range(drawn.randrange(1, 20)))
    return drawn.choice((_flipped, _overwritten, _cut, _doubled, _stuttering, _with_a_gap))(bytearray(content), drawn)


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
