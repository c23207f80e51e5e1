"""TensorFlow's records of examples, and Android's accessibility trees in them, written byte by byte."""

import gzip
import struct
from pathlib import Path
from typing import Any


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A protobuf message of numbers, texts and messages."""
    out = b""
    for number, value in fields:
        content = value.encode() if isinstance(value, str) else value
        key = varint(number << 3 | (0 if isinstance(content, int) else 2))
        out += key + (varint(content) if isinstance(content, int) else varint(len(content)) + content)
    return out


def feature(values: list[Any]) -> bytes:
    if all(isinstance(value, int) for value in values):
        return message((3, message((1, b"".join(map(varint, values))))))
    if all(isinstance(value, float) for value in values):
        return message((2, message((1, struct.pack(f"<{len(values)}f", *values)))))
    return message((1, message(*((1, value) for value in values))))


def example(**features: list[Any]) -> bytes:
    entries = ((1, message((1, name.replace("__", "/")), (2, feature(values)))) for name, values in features.items())
    return message((1, message(*entries)))


def tfrecord(path: Path, examples: list[bytes]) -> None:
    framed = b"".join(struct.pack("<QI", len(one), 0) + one + bytes(4) for one in examples)
    path.write_bytes(gzip.compress(framed))


def node(name: str, class_name: str, box: tuple[int, int, int, int], depth: int, *flags: int) -> bytes:
    sides = message(*((key, side) for key, side in enumerate(box, start=1)))
    return message(
        (2, sides), (3, f"android.widget.{class_name}"), (7, name), *((flag, 1) for flag in flags), (23, 1), (27, depth)
    )
