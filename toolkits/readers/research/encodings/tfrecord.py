"""TFRecord files of `tf.train.Example`s, read without TensorFlow.

    file      records: length (8 bytes), its checksum (4), data, its checksum (4); all of it gzipped or not
    Example   features: name -> a list of bytes, floats or whole numbers, in protobuf's wire format
              (tensorflow/core/example/example.proto and feature.proto)

The checksums of records (CRC-32C, masked) are not computed; gzip has its own.
"""

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError

LARGEST = 512 * 2**20  # bytes of a record: an episode with its screenshots
Feature = list[bytes] | list[float] | list[int]
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def read_examples(path: Path) -> Iterator[tuple[str, dict[str, Feature]]]:
    """(where it stands, its features by name) of each record.

    Raises:
        UserError: naming file and record.
    """
    place = 0
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else open(path, "rb") as file:
            for place, record in enumerate(_records(file), start=1):
                yield f"{path}: record {place}", example(record)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error, ValueError, IndexError, struct.error) as error:
        raise UserError(f"{path}: record {place + 1}: not a TFRecord of examples, or damaged ({error})") from None


def texts(where: str, features: dict[str, Feature], name: str) -> list[str]:
    """A list of texts; `UserError` where it is none."""
    try:
        return [bytes_of(one).decode() for one in features.get(name, [])]
    except ValueError:
        raise UserError(f"{where}: its {name} is not text") from None


def _records(file: io.BufferedIOBase) -> Iterator[bytes]:
    while head := file.read(12):
        length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else LARGEST + 1
        if length > LARGEST:
            raise ValueError(f"a record of more than {LARGEST >> 20} MB, or cut")
        record = file.read(length + 4)
        if len(record) != length + 4:
            raise ValueError("cut")
        yield record[:-4]


def example(record: bytes) -> dict[str, Feature]:
    """ValueError or IndexError where it is none."""
    features: dict[str, Feature] = {}
    for number, content in fields(record):
        for inner, entry in fields(bytes_of(content)) if number == 1 else ():
            if inner == 1:
                name, value = _entry(bytes_of(entry))
                features[name] = value
    return features


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a protobuf message; a number, or the bytes of what is not one."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind = key & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        size, position = (
            _varint(message, position) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind, -1), position)
        )
        if size < 0 or position + size > len(message):
            raise ValueError("a field that does not fit its message")
        yield key >> 3, message[position : position + size]
        position += size


def bytes_of(value: float | bytes) -> bytes:
    """ValueError where it is none."""
    if not isinstance(value, bytes):
        raise ValueError("a number where a message should be")
    return value


def _entry(entry: bytes) -> tuple[str, Feature]:
    name, value = "", list[int]()
    for number, content in fields(entry):
        if number == 1:
            name = bytes_of(content).decode()
        elif number == 2:
            value = _feature(bytes_of(content))
    return name, value


def _feature(feature: bytes) -> Feature:
    for kind, content in fields(feature):
        values = [value for number, value in fields(bytes_of(content)) if number == 1]
        if kind == 1:
            return [bytes_of(value) for value in values]
        if kind == 2:
            packed = b"".join(map(bytes_of, values))
            return list(struct.unpack(f"<{len(packed) // 4}f", packed))
        if kind == 3:
            return [number for value in values for number in ([value] if isinstance(value, int) else _varints(value))]
    return []


def _varints(packed: bytes) -> Iterator[int]:
    position = 0
    while position < len(packed):
        value, position = _varint(packed, position)
        yield value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise ValueError("a number that does not end")
