"""Columns beside the shards: found by the samples' ids, and refused in one line when they are not what is wanted."""

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from data.shards.columns import ColumnFiles, write_columns


def write(path: Path, **columns: Any) -> Path:
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Of three samples, in several row groups; the middle one's list is empty."""
    lists = pyarrow.array([[-1.0, -2.0], [], [-0.5]], pyarrow.list_(pyarrow.float32()))
    return write(tmp_path / "a.parquet", id=["x", "y", "z"], advantage=[0.5, -1.0, 3.0], logprobs=lists, note=["a"] * 3)


def test_values_are_found_by_the_sample_id(good: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "b.parquet", id=["z", "extra", "x", "y"], weight=[3, 9, 1, 2])
    files = ColumnFiles([good, other], ["advantage", "weight", "reward"], ["logprobs"])
    assert [files.of_sample("advantage", key) for key in "zxy"] == [3.0, 0.5, -1.0]
    assert [files.of_sample("weight", key) for key in "zxy"] == [3.0, 1.0, 2.0]
    assert [files.of_tokens("logprobs", key).tolist() for key in "zyx"] == [[-0.5], [], [-1.0, -2.0]]
    assert "logprobs" in files and "reward" not in files and "note" not in files


def test_rows_are_written_as_a_whole_file_or_not_at_all(tmp_path: Path) -> None:
    schema = pyarrow.schema([("id", pyarrow.string()), ("value", pyarrow.float64())])
    path = tmp_path / "values.parquet"

    def broken() -> Any:
        yield [{"id": "x", "value": 1.0}]
        raise RuntimeError("out of power")

    with pytest.raises(RuntimeError):
        write_columns(path, broken(), schema, {})
    assert not path.exists()
    assert write_columns(path, [[{"id": "x", "value": 1.0}], [{"id": "y", "value": 2.0}]], schema, {}) == 2
    assert ColumnFiles([path], ["value"], []).of_sample("value", "y") == 2.0


BAD_FILES: dict[str, tuple[dict[str, Any], str]] = {
    "no ids": ({"advantage": [1.0]}, "has no column id"),
    "nothing wanted": ({"id": ["x"], "value": [1.0]}, r"has value; none is a column that is wanted \(advantage, logpr"),
    "two rows": ({"id": ["x", "y", "x"], "advantage": [1.0] * 3}, "sample x has two rows"),
    "text": ({"id": ["x"], "advantage": ["1.0"]}, "advantage holds string; one number a sample"),
    "a list": ({"id": ["x"], "advantage": [[1.0]]}, "advantage holds list.*; one number a sample"),
    "no list": ({"id": ["x"], "logprobs": [1.0]}, "logprobs holds double; one list of numbers a sample"),
    "lists of text": ({"id": ["x"], "logprobs": [["a"]]}, "logprobs holds list.*; one list of numbers a sample"),
}


@pytest.mark.parametrize(("columns", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_of_another_form_is_refused(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "bad.parquet", **columns)
    with pytest.raises(UserError, match=f"^{path}: .*{message}[^\n]*$"):
        ColumnFiles([path], ["advantage"], ["logprobs"])


def test_a_file_for_what_wants_none_is_refused(good: Path) -> None:
    with pytest.raises(UserError, match=r"no file of columns is wanted$"):
        ColumnFiles([good], (), ())


def test_what_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "columns.parquet"
    with pytest.raises(UserError, match="no such file"):
        ColumnFiles([path], ["advantage"], [])
    path.write_text("id,advantage\nx,1\n")
    with pytest.raises(UserError, match=r"not a Parquet file [^\n]*$"):
        ColumnFiles([path], ["advantage"], [])


def test_a_column_in_two_files_is_refused(good: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "b.parquet", id=["x"], advantage=[3])
    with pytest.raises(UserError, match=f"{other}: column advantage is in {good} too"):
        ColumnFiles([good, other], ["advantage"], [])


BAD_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "null": ({"advantage": [None], "logprobs": [None]}, "is None"),
    "nan": ({"advantage": [float("nan")], "logprobs": [[0.0, float("nan")]]}, "is nan"),
    "infinite": ({"advantage": [float("inf")], "logprobs": [[float("-inf")]]}, "is inf"),
    "null within": ({"advantage": [None], "logprobs": [[0.0, None]]}, "is None"),
}


@pytest.mark.parametrize(("columns", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_row_that_is_not_finite_is_named(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    kinds = {"advantage": pyarrow.float64(), "logprobs": pyarrow.list_(pyarrow.float64())}
    arrays = {name: pyarrow.array(values, kinds[name]) for name, values in columns.items()}
    path = write(tmp_path / "bad.parquet", id=["x"], **arrays)
    files = ColumnFiles([path], ["advantage"], ["logprobs"])
    with pytest.raises(UserError, match=f"{path}: sample x: advantage {message}, not a finite number"):
        files.of_sample("advantage", "x")
    with pytest.raises(UserError, match=f"{path}: sample x: logprobs is not a list of finite numbers"):
        files.of_tokens("logprobs", "x")
    with pytest.raises(UserError, match=f"{path}: no row for sample y; it was made for other samples"):
        files.of_sample("advantage", "y")
