"""`--format auto` says by looking what each format's files are; what does not show it is one line."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from tests.toolkits.foreign_folders import FOREIGN, FORMATS
from tests.toolkits.interchange import ALL_OUT, export, take_in, write_samples
from tests.toolkits.readers.test_tars_of_others import energon
from tests.toolkits.readers.test_webdataset_tars import TURNS, write
from tests.toolkits.trajectories import write_trajectory
from toolkits import export_data
from toolkits.readers.detect import detect

AS = {"llava": "messages", "ms_swift": "messages", "verl": "hf"}
"""Formats of which another reader takes all."""
FILES = {"messages": "train.jsonl", "llava": "train.json", "ms_swift": "train.jsonl", "verl": "train.parquet"}


@pytest.mark.parametrize("kind", ALL_OUT)
def test_what_export_data_writes_of_samples(tmp_path: Path, kind: str) -> None:
    out = export(kind, *write_samples(tmp_path), tmp_path / kind)
    assert detect(out / FILES.get(kind, ".")) == AS.get(kind, kind)


@pytest.mark.parametrize("kind", ["atif", "adp"])
def test_what_export_data_writes_of_trajectories(tmp_path: Path, kind: str) -> None:
    write_trajectory(tmp_path / "ours")
    export_data.main(export_data.Config(kind, str(tmp_path / kind), result_dir=str(tmp_path / "ours")))
    files = [tmp_path / kind, *(tmp_path / kind).rglob("trajector*.json*")]
    assert {detect(file) for file in files} == {kind} and len(files) == 2


@pytest.mark.parametrize(
    "name", ["visualwebarena", "mind2web", "online_mind2web", "agentlab", "browser_use", "openai_cua"]
)
def test_what_agents_leave(tmp_path: Path, name: str) -> None:
    assert {detect(tmp_path / file) for file in FOREIGN[name](tmp_path)} == {FORMATS.get(name, name)}


def test_data_sets(tmp_path: Path) -> None:
    assert detect(energon(tmp_path / "energon")) == "energon"
    assert detect(write(tmp_path / "a.tgz", {"a": b""}, "w:gz")) == "webdataset"
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dataset_info.json").write_text('{"features": {}, "splits": {"train": {"name": "train"}}}')
    (tmp_path / "saved" / "data-00000-of-00001.arrow").touch()
    assert detect(tmp_path / "saved") == "hf"


def test_several_files_are_read_as_one_format(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for number in range(2):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(TURNS))
    given = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    assert len(take_in("auto", tmp_path, tmp_path / "out.json", *given)) == 2
    assert "read as --format messages" in capsys.readouterr().out
    tar = write(tmp_path / "a.tar", {"a": b""})
    with pytest.raises(UserError, match="several formats"):
        take_in("auto", tmp_path, tmp_path / "out.json", *given, tar)


@pytest.mark.parametrize("content", ["", "[]", "3", '{"a": 1}', "[[1]]"])
def test_what_shows_nothing_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    for path in (tmp_path / "a.json", tmp_path, tmp_path / "none"):
        with pytest.raises(UserError, match=str(path)):
            detect(path)
