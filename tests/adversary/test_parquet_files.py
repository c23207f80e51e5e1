"""Columns from elsewhere: Parquet files that are damaged, that lie, and that grow."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from data.shards.columns import ColumnFiles, print_columns, read_record, read_rows, write_columns
from data.shards.parquet.parquet_file import iter_batches, read_table
from tests.adversary.damage import damaged
from tests.adversary.refusals import refusal

MIB = 2**20
ROWS = pyarrow.table(
    {
        "id": [f"sample-{number}" for number in range(40)],
        "value": [number / 7 for number in range(40)],
        "logprobs": [[-0.5] * (number % 5) for number in range(40)],
        "candidates": [["Click [1]", "Wait" * (number % 3)] for number in range(40)],
        "candidate_token_ids": [[[1, 2], [3]] for _ in range(40)],
    }
)
NAMES = ROWS.column_names


def readings(path: Path) -> Iterator[Callable[[], Any]]:
    """What of ours opens columns."""
    yield lambda: ColumnFiles([path], ["value"], ["logprobs"])
    yield lambda: read_rows(path)
    yield lambda: read_record(path)
    yield lambda: print_columns(path)
    yield lambda: list(iter_batches(path, NAMES))


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_what_other_writers_write_is_read(tmp_path: Path, codec: str, version: str) -> None:
    path = tmp_path / "columns.parquet"
    parquet.write_table(ROWS, path, compression=codec, data_page_version=version, row_group_size=7)
    assert read_table(path, NAMES).equals(ROWS.combine_chunks()) and read_rows(path) == ROWS.to_pylist()
    parquet.write_table(ROWS.slice(0, 0), path)
    assert read_rows(path) == []


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_one_line_or_reads(tmp_path: Path, seed: int, capsys: pytest.CaptureFixture) -> None:
    drawn, path = random.Random(seed), tmp_path / "columns.parquet"
    codec = drawn.choice(["none", "snappy", "gzip", "zstd"])
    parquet.write_table(ROWS, path, compression=codec, data_page_version=drawn.choice(["1.0", "2.0"]))
    path.write_bytes(damaged(path.read_bytes(), drawn))
    for read in readings(path):
        line = refusal(read)
        assert not line or str(path) in line


def test_a_number_that_changed_in_a_file_of_ours_is_noticed(tmp_path: Path) -> None:
    """Without a checksum another number would be trained on."""
    path = tmp_path / "columns.parquet"
    write_columns(path, [ROWS.to_pylist()], ROWS.schema, {})
    content = path.read_bytes()
    at = content.index(numpy.float64(1 / 7).tobytes())
    path.write_bytes(content[: at + 6] + bytes([content[at + 6] ^ 4]) + content[at + 7 :])
    assert "damaged" in refusal(lambda: read_rows(path))


def repeated(path: Path, row: dict[str, Any], times: int, groups: int) -> None:
    """`groups` times one row, written `times` times."""
    table = pyarrow.table({name: pyarrow.array([value]) for name, value in row.items()})
    table = table.take(pyarrow.array(numpy.zeros(times, "int64")))
    with parquet.ParquetWriter(path, table.schema) as writer:
        for _ in range(groups):
            writer.write_table(table)


GROWING: dict[str, tuple[dict[str, Any], int, int]] = {
    "rows of one number": ({"id": "x", "value": 0.0}, 1_000_000, 20),
    "rows of one text": ({"id": "x" * 100_000, "value": 0.0}, 1_000, 20),
    "lists of one number": ({"id": "x", "value": 0.0, "logprobs": [0.0] * 100_000}, 40, 5),
    "lists of one text": ({"id": "x", "value": 0.0, "candidates": ["y" * 10_000] * 100}, 200, 3),
}


@pytest.mark.parametrize("kind", GROWING)
def test_a_file_that_grows_is_refused_before_it_does(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "grows.parquet"
    repeated(path, *GROWING[kind])
    assert path.stat().st_size < MIB
    line = refusal(lambda: read_rows(path))
    assert str(path) in line and "in memory" in line


def test_rows_of_no_content_grow_in_python_alone(tmp_path: Path) -> None:
    """As numbers they fit; as objects they take eight times that."""
    path = tmp_path / "columns.parquet"
    repeated(path, {"id": "x", "value": 0.0}, 1_000_000, 4)
    assert read_table(path, ["value"]).num_rows == 4_000_000
    assert "in memory" in refusal(lambda: read_rows(path))


def test_rows_of_empty_texts_grow_in_python_alone(tmp_path: Path) -> None:
    """Each row becomes a dictionary: 380 kB were as many megabytes."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"id": [""] * 2_000_000}), path, use_dictionary=False)
    assert read_table(path, ["id"]).num_rows == 2_000_000
    assert "in memory" in refusal(lambda: read_rows(path))


def test_doubled_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "columns.parquet"
    table = pyarrow.Table.from_arrays([ROWS["id"], ROWS["value"], ROWS["value"]], ["id", "value", "value"])
    parquet.write_table(table, path)
    for read in readings(path):
        assert "two columns are named 'value'" in refusal(read)


@pytest.mark.parametrize("made_of", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_a_record_that_is_none_is_refused(tmp_path: Path, made_of: bytes) -> None:
    path = tmp_path / "columns.parquet"
    parquet.write_table(ROWS.replace_schema_metadata({"made_of": made_of}), path)
    assert str(path) in refusal(lambda: read_record(path))


def test_a_deep_schema_is_refused(tmp_path: Path) -> None:
    path, deep = tmp_path / "columns.parquet", pyarrow.array([1])
    for _ in range(200):
        deep = pyarrow.StructArray.from_arrays([deep], ["x"])
    parquet.write_table(pyarrow.table({"id": ["x"], "value": deep}), path)
    assert "deep" in refusal(lambda: read_record(path))


def test_texts_that_repeat_their_beginnings_are_refused(tmp_path: Path) -> None:
    """A text of any length takes two bytes in this encoding."""
    path = tmp_path / "columns.parquet"
    encodings = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}}
    parquet.write_table(pyarrow.table({"id": ["x" * 1000] * 1000}), path, **encodings)
    assert "encoding" in refusal(lambda: read_rows(path))


def test_kinds_that_no_columns_have_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "columns.parquet"
    parquet.write_table(pyarrow.table({"id": ["x"], "value": pyarrow.array([1], "timestamp[s]")}), path)
    with pytest.raises(UserError, match=r"column 'value' holds timestamp"):
        read_table(path, ["value"])
    assert read_rows(path) == [{"id": "x"}]
