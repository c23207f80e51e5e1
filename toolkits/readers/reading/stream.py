"""Records of a JSON file one by one (JSON lines, a list, or one object), so that a file may be larger than memory."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from common.errors import UserError
from common.files import parse_line, read_records
from toolkits.readers.reading import packed

_PIECE = 2**20
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s+")
_END = object()


def stream_records(path: Path) -> Iterator[tuple[str, Any]]:
    """(where it stands, its value) as `common.files.read_records` gives them.

    Raises:
        UserError: no such file, no text, or a record that is no JSON.
    """
    try:
        with open_text(path) as file:
            if (first := _first_line(file)).lstrip().startswith("["):
                yield from _items(path, first, file)
                return
        try:
            json.loads(first)
        except (ValueError, RecursionError):  # an object over many lines, or damaged
            if packed.is_packed(path):
                raise UserError(f"{path}: neither JSON lines nor a list; unpack it and give that") from None
            yield from read_records(path)
            return
        with open_text(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}:{number}", parse_line(line, f"{path}:{number}")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file; give JSON or JSON lines, in UTF-8 or UTF-16") from None
    except packed.DAMAGE as error:
        known = isinstance(error, OSError) and error.strerror
        raise UserError(f"{path}: {known or f'cannot be unpacked ({error})'}") from None


def stream_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """`stream_records` of a file whose records are objects."""
    for where, value in stream_records(path):
        if not isinstance(value, dict):
            raise UserError(f"{where}: not an object")
        yield where, value


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """UTF-8 or UTF-16, packed or not; `newline` as in `open`."""
    with packed.opened(path) as file:
        encoding = json.detect_encoding(file.read(4))
    return io.TextIOWrapper(packed.opened(path), encoding=encoding, newline=newline)


def _first_line(file: TextIO) -> str:
    """The first that is not blank; of a list on one line, the beginning."""
    while line := file.readline(_PIECE):
        if line.strip():
            break
    if line.lstrip().startswith("{") and not line.endswith("\n"):
        line += file.readline()  # one record of more than a piece
    return line


def _items(path: Path, begun: str, file: TextIO) -> Iterator[tuple[str, Any]]:
    """Those of a list, of which `begun` was read."""
    buffer, at, number, at_end = begun, begun.index("[") + 1, 0, False
    while True:
        try:
            value, at = _next(buffer, at, number, at_end)
        except RecursionError:
            raise UserError(f"{path}: record {number + 1}: not valid JSON (nested too deeply)") from None
        except ValueError as error:
            if at_end:
                raise UserError(f"{path}: record {number + 1}: not valid JSON ({error})") from None
            rest = buffer[at:]
            more = file.read(max(_PIECE, len(rest)))  # twice as much, so that a long record is not parsed often
            buffer, at, at_end = rest + more, 0, not more
            continue
        if value is _END:
            break
        number += 1
        yield f"{path}: record {number}", value
    if buffer[at:].strip() or file.read().strip():
        raise UserError(f"{path}: not valid JSON (something follows the list)")


def _next(buffer: str, at: int, number: int, at_end: bool) -> tuple[Any, int]:
    """(the next record or `_END`, where it ends); `ValueError` where the buffer does not hold it whole."""
    at = _after_space(buffer, at)
    if buffer.startswith("]", at):
        return _END, at + 1
    if number:
        if not buffer.startswith(",", at):
            raise ValueError("a comma or the list's end is missing")
        at = _after_space(buffer, at + 1)
    value, end = _DECODER.raw_decode(buffer, at)
    if end == len(buffer) and not at_end:  # of a number there may be more
        raise ValueError
    return value, end


def _after_space(buffer: str, at: int) -> int:
    found = _SPACE.match(buffer, at)
    return found.end() if found else at
