"""Parquet files from anywhere: every reader goes through here, so a damaged or a growing one is one line.

A column of one number repeated takes no space in a file, and 60 million rows of it gigabytes of memory. So before a
column is decoded, what will come of it is summed from its pages (`parquet_pages.py`) and from the lengths of its
texts, and has to be in proportion to the file.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import compute, parquet, types

from common.errors import UserError
from common.shown.terminal import in_short
from data.shards.parquet.parquet_pages import BYTE_ARRAY, DELTA_BYTE_ARRAY, Column, pages_of, read_footer
from data.shards.parquet.parquet_pages import columns as schema_columns

FREE_BYTES = 128 * 2**20
GROWTH = 128
"""So many bytes may come of a file, and so many more of each of its own: lists of one number repeated are honest."""
_MOST_LISTED = 200_000  # row groups, columns
_LONGEST_TEXT = 2**26  # of a footer
_BATCH = 20_000  # rows
_ROWS_WITH_IMAGES = 16
_PER_VALUE_IN_PYTHON, _PER_ROW_IN_PYTHON = 64, 200


def read_schema(path: Path) -> pyarrow.Schema:
    """Names and types of a file's columns, and its metadata; `UserError` when it is no Parquet file."""
    with _opened(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """As the footer says; `UserError` when it is no Parquet file."""
    with _opened(path) as file:
        return file.metadata.num_rows


def read_table(path: Path, columns: Sequence[str]) -> pyarrow.Table:
    """Some columns, each a single chunk.

    Raises:
        UserError: no Parquet file, a damaged one, a column that is none of numbers, texts or lists of these, or one
            that is out of proportion to the file.
    """
    with _opened(path) as file:
        schema = pyarrow.schema([file.schema_arrow.field(name) for name in columns])
        return pyarrow.Table.from_batches(list(_batches(path, file, columns, 0)), schema).combine_chunks()


def iter_batches(path: Path, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    """As `read_table`, some thousand rows at a time."""
    with _opened(path) as file:
        yield from _batches(path, file, columns, 0)


def iter_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """All rows one by one, of these columns or of all, of any kind but maps: images and conversations, nested and as
    bytes. What a few rows take is held in memory.

    Raises:
        UserError: no Parquet file, a damaged one, one that is out of proportion to its size, or a column is missing.
    """
    with _opened(path) as file:
        names = list(columns) or [field.name for field in file.schema_arrow]
        if missing := sorted({*names} - {*file.schema_arrow.names}):
            raise UserError(f"{path}: has no column {missing[0]!r}")
        _check_size(path, names, 0, _ROWS_WITH_IMAGES)
        for batch in file.iter_batches(_ROWS_WITH_IMAGES, columns=names, use_threads=False):
            batch.validate(full=True)
            yield from batch.to_pylist()


def read_all(path: Path) -> list[dict[str, Any]]:
    """All rows, of the columns whose kind `read_table` takes; `UserError` as there."""
    with _opened(path) as file:
        columns = [field.name for field in file.schema_arrow if _is_plain(field.type)]
        size, num_rows = path.stat().st_size, file.metadata.num_rows
        _check_left(path, size, FREE_BYTES + GROWTH * size - num_rows * _PER_ROW_IN_PYTHON)
        batches = _batches(path, file, columns, _PER_VALUE_IN_PYTHON)
        return [row for batch in batches for row in batch.to_pylist()]


def is_number(kind: pyarrow.DataType) -> bool:
    return types.is_floating(kind) or types.is_integer(kind)


def is_list(kind: pyarrow.DataType) -> bool:
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _is_plain(kind: pyarrow.DataType) -> bool:
    if is_list(kind):
        return _is_plain(kind.value_type)
    if is_number(kind) or types.is_boolean(kind) or types.is_null(kind):
        return True
    return types.is_string(kind) or types.is_large_string(kind)


@contextlib.contextmanager
def _opened(path: Path, **options: Any) -> Iterator[parquet.ParquetFile]:
    limits = {"thrift_string_size_limit": _LONGEST_TEXT, "thrift_container_size_limit": _MOST_LISTED}
    try:
        schema_columns(read_footer(path))  # before pyarrow, which some footers end with all of the process
        with parquet.ParquetFile(path, page_checksum_verification=True, **limits, **options) as file:
            if twice := _twice(file.schema_arrow.names):
                raise UserError(f"{path}: two columns are named {twice!r}")
            yield file
    except UserError:
        raise
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of columns") from None
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        said = in_short(str(error)) or type(error).__name__
        raise UserError(f"{path}: not a Parquet file or a damaged one ({said})") from None


def _twice(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None


def _batches(
    path: Path, file: parquet.ParquetFile, columns: Sequence[str], least_width: int
) -> Iterator[pyarrow.RecordBatch]:
    for name in columns:
        kind = file.schema_arrow.field(name).type
        if not _is_plain(kind):
            raise UserError(f"{path}: column {name!r} holds {kind}; numbers, texts or lists of these are read")
    _check_size(path, columns, least_width)
    for batch in file.iter_batches(_BATCH, columns=list(columns), use_threads=False):
        batch.validate(full=True)
        yield batch


def _check_size(path: Path, columns: Sequence[str], least_width: int, num_rows: int = _BATCH) -> None:
    size = path.stat().st_size
    left = FREE_BYTES + GROWTH * size
    texts: dict[str, Column] = {}
    for column, page in pages_of(path, read_footer(path), columns):
        if page.encoding == DELTA_BYTE_ARRAY:
            raise UserError(f"{path}: column {column.path} is in an encoding that is not read (delta of texts)")
        left -= page.num_bytes + page.num_values * max(column.width, least_width)
        _check_left(path, size, left)
        if page.is_dictionary and column.physical_type == BYTE_ARRAY:
            texts[column.path] = column
    for num_bytes in _text_bytes(path, texts, num_rows) if texts else ():
        left -= num_bytes
        _check_left(path, size, left)


def _check_left(path: Path, size: int, left: int) -> None:
    if left < 0:
        raise UserError(f"{path}: its {size} bytes would become more than {FREE_BYTES + GROWTH * size} in memory")


def _text_bytes(path: Path, texts: Mapping[str, Column], num_rows: int) -> Iterator[int]:
    """How long the texts are when each stands for itself, of so many rows at a time: in the file a dictionary has them
    once."""
    with _opened(path, read_dictionary=list(texts)) as file:
        names = list(dict.fromkeys(column.name for column in texts.values()))
        for group in range(file.num_row_groups):  # each has a dictionary of its own
            for batch in file.iter_batches(num_rows, row_groups=[group], columns=names, use_threads=False):
                yield sum(_expanded(column) for column in batch.columns)


def _expanded(column: pyarrow.Array) -> int:
    if types.is_struct(column.type):
        return sum(map(_expanded, column.flatten()))
    if is_list(column.type):
        return _expanded(column.flatten())
    if not types.is_dictionary(column.type):
        return column.nbytes
    lengths = compute.call_function("binary_length", [column.dictionary]).take(column.indices)
    return compute.call_function("sum", [lengths.cast("int64")]).as_py() or 0
