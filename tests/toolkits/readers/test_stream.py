"""Records of JSON files one by one are those that the whole file gives, wherever the pieces end."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from common.errors import UserError
from common.files import read_records
from toolkits.readers.reading import stream

RECORDS = [{"a": "x" * 30, "b": [1, {"c": "é]}"}]}, 12345678901234567890, "[,]", {}, {"n": 1.5e10}, None]
TEXTS = {
    "a list": json.dumps(RECORDS),
    "a list over lines": json.dumps(RECORDS, indent=2),
    "an empty list": " [ ] ",
    "lines": "".join(f"{json.dumps(record)}\n\n" for record in RECORDS if record is not None),
    "one object over lines": json.dumps(RECORDS[0], indent=2),
    "one line": json.dumps(RECORDS[0]),
}


@pytest.mark.parametrize("piece", [1, 7, 64, 2**20])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_pieces_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, name: str, encoding: str
) -> None:
    monkeypatch.setattr(stream, "_PIECE", piece)
    (tmp_path / "a.json").write_text(TEXTS[name], encoding=encoding)
    expected = [value for _, value in read_records(tmp_path / "a.json")]
    assert [value for _, value in stream.stream_records(tmp_path / "a.json")] == expected


@pytest.mark.parametrize("text", ['[{"a": 1}', "[1 2]", "[1,]", "[1] 2", '[{"a": ]', "[" * 100_000, '{"a": 1}\n{"a":'])
def test_what_is_no_json_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UserError, match=r"a\.json.*not valid JSON") as error:
        list(stream.stream_records(tmp_path / "a.json"))
    assert "\n" not in str(error.value)


def test_what_is_no_json_is_not_unpacked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_PIECE", 64)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(bytes(2**24)))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"a\.json\.gz: neither JSON lines nor a list"):
        list(stream.stream_records(tmp_path / "a.json.gz"))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
