"""How large the columns of a Parquet file become when they are decoded: read without decoding anything.

The footer alone may say anything; a page's header is what a reader allots memory by. Both are read here, since pyarrow
ends the process on some damaged footers when it is asked for their numbers.

    file      "PAR1", pages, footer, length of the footer in 4 bytes, "PAR1"
    footer    FileMetaData of https://github.com/apache/parquet-format, src/main/thrift/parquet.thrift
    page      PageHeader, then its bytes, compressed
"""

import dataclasses
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from data.shards.parquet.thrift_compact import BINARY, I32, LIST, STRUCT, Compact

DELTA_BYTE_ARRAY = 7
"""The encoding in which each text repeats the beginning of the one before, of any length."""
BYTE_ARRAY = 6
_WIDTHS = (1, 4, 8, 12, 4, 8, 8)  # by physical type; the next one, 7, has the length that it says
_MAGIC = b"PAR1"
_LARGEST_FOOTER = 32 * 2**20
_WINDOW = 1 << 16  # bytes: far more than a page's header with its extremes
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_HEADERS = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_V2: (8, 4)}  # the field with the kind's own, and its encoding
_MOST_COLUMNS, _DEEPEST = 10_000, 16


@dataclasses.dataclass(frozen=True)
class Column:
    """A leaf of the schema."""

    name: str
    """Of the column that it is a part of."""
    path: str
    physical_type: int
    width: int
    """Bytes of a value; of a text those of its place alone."""


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a column chunk."""

    is_dictionary: bool
    num_values: int
    encoding: int
    num_bytes: int
    """Uncompressed."""


def read_footer(path: Path) -> bytes:
    """
    Raises:
        ValueError: no Parquet file.
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length + 12 > size:
            raise ValueError("it does not end as one")
        if length > _LARGEST_FOOTER:
            raise ValueError(f"its footer has {length} bytes; {_LARGEST_FOOTER} are read")
        file.seek(size - 8 - length)
        return file.read(length)


def columns(footer: bytes) -> list[Column]:
    """All leaves of the schema, in order.

    Raises:
        ValueError: the footer is damaged, or its schema is nested deeply.
    """
    cursor = Compact(footer)
    for field, kind in cursor.fields():
        if field == 2 and kind == LIST:
            return _leaves([_element(cursor) for _ in range(_count(cursor.list_of(STRUCT)))])
        cursor.skip(kind)
    raise ValueError("a footer without a schema")


def pages_of(path: Path, footer: bytes, wanted: Collection[str]) -> Iterator[tuple[Column, Page]]:
    """All pages of the columns whose names are wanted.

    Raises:
        ValueError: the file is damaged, or its footer and its pages do not agree.
    """
    leaves = columns(footer)
    with open(path, "rb") as file:
        for chunks in _row_groups(footer):
            if len(chunks) != len(leaves):
                raise ValueError(f"rows of {len(chunks)} columns in a file of {len(leaves)}")
            for column, chunk in zip(leaves, chunks, strict=True):
                if column.name in wanted:
                    yield from ((column, page) for page in _pages(file, chunk))


@dataclasses.dataclass(frozen=True)
class _Element:
    name: str
    physical_type: int
    length: int
    num_children: int


def _count(number: int) -> int:
    if number > _MOST_COLUMNS:
        raise ValueError(f"more than {_MOST_COLUMNS} columns")
    return number


def _element(cursor: Compact) -> _Element:
    name, found = "", {}
    for field, kind in cursor.fields():
        if kind == BINARY and field == 4:
            name = cursor.text()
        elif kind == I32:
            found[field] = cursor.number()
        else:
            cursor.skip(kind)
    return _Element(name, found.get(1, -1), found.get(2, 0), found.get(5, 0))


def _leaves(elements: list[_Element]) -> list[Column]:
    """The first element is the root; each is followed by its children."""
    if not elements:
        raise ValueError("a schema without a root")
    found: list[Column] = []
    parents: list[tuple[str, int]] = [("", elements[0].num_children)]
    for element in elements[1:]:
        while parents and not parents[-1][1]:
            parents.pop()
        if not parents or len(parents) > _DEEPEST:
            raise ValueError("a schema that is no tree, or a deep one")
        parents[-1] = (parents[-1][0], parents[-1][1] - 1)
        names = [*(name for name, _ in parents[1:]), element.name]
        if element.num_children:
            parents.append((element.name, element.num_children))
            continue
        width = _WIDTHS[element.physical_type] if 0 <= element.physical_type < len(_WIDTHS) else element.length
        found.append(Column(names[0], ".".join(names), element.physical_type, max(0, width)))
    return found


@dataclasses.dataclass(frozen=True)
class _Chunk:
    start: int
    num_bytes: int
    num_values: int


def _row_groups(footer: bytes) -> Iterator[list[_Chunk]]:
    cursor = Compact(footer)
    for field, kind in cursor.fields():
        if field != 4 or kind != LIST:
            cursor.skip(kind)
            continue
        for _ in range(cursor.list_of(STRUCT)):
            yield _chunks(cursor)


def _chunks(cursor: Compact) -> list[_Chunk]:
    found: list[_Chunk] = []
    for field, kind in cursor.fields():
        if field == 1 and kind == LIST:
            found = [_chunk(cursor.numbers({3}).get(3, {})) for _ in range(_count(cursor.list_of(STRUCT)))]
        else:
            cursor.skip(kind)
    return found


def _chunk(said: dict[int, int]) -> _Chunk:
    num_values, num_bytes, data, dictionary = (said.get(field, 0) for field in (5, 7, 9, 11))
    return _Chunk(min(data, dictionary) if dictionary > 0 else data, num_bytes, num_values)


def _pages(file: BinaryIO, chunk: _Chunk) -> Iterator[Page]:
    position, left = chunk.start, chunk.num_values
    while left > 0:
        file.seek(position)
        cursor = Compact(file.read(_WINDOW))
        header = cursor.numbers({5, 7, 8})
        kind, unpacked, packed = (header.get(field, -1) for field in (1, 2, 3))
        position += cursor.position + packed
        if unpacked < 0 or packed < 0 or position > chunk.start + chunk.num_bytes:
            raise ValueError("a page that does not fit its column")
        if kind not in _HEADERS:
            continue
        field, encoding = _HEADERS[kind]
        own = header.get(field, {})
        page = Page(kind == _DICTIONARY, own.get(1, -1), own.get(encoding, -1), unpacked)
        if page.num_values < 0:
            raise ValueError("a page without a number of values")
        yield page
        left -= 0 if page.is_dictionary else page.num_values
    if left:
        raise ValueError("pages with more values than their column")
