"""Data sets in rows: others' become samples, as written by hand here; ours are read by `datasets`, and come back."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest
from pyarrow import ipc, parquet

from common.errors import UserError
from tests.toolkits.interchange import export, pictures, seen, shards, take_in, write_samples
from tests.toolkits.trajectories import screenshot


def image(number: int, path: str | None = None) -> dict[str, Any]:
    return {"bytes": screenshot(number), "path": path}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


SAID = [{"role": "user", "content": "<image>Hi"}, {"role": "assistant", "content": "Ho"}]
GEO3K = {
    "data_source": "geo",
    "prompt": [{"role": "user", "content": "<image>How long?"}],
    "images": [image(0)],
    "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "3"},
    "extra_info": {"index": 4, "answer": "3"},
}
HELD = [
    ("messages", {"messages": SAID, "images": [image(0)]}, ["<image>Hi", "Ho"], {}),
    ("a path", {"messages": SAID, "images": [{"bytes": None, "path": "shots/0.png"}]}, ["<image>Hi", "Ho"], {}),
    ("texts of paths", {"messages": SAID, "images": ["shots/0.png"]}, ["<image>Hi", "Ho"], {}),
    (
        "a column of its own",
        {"messages": SAID, "screenshot": image(0), "site": "x"},
        ["<image>Hi", "Ho"],
        {"site": "x"},
    ),
    ("a caption", {"image": image(0), "text": "A shop."}, ["<image>", "A shop."], {}),
    ("questions", {"image": image(0), "question": "What?", "answer": "A shop."}, ["<image>\nWhat?", "A shop."], {}),
    ("EasyR1", {"images": [image(0)], "problem": "<image>How long?", "answer": "3"}, ["<image>How long?", "3"], {}),
    (
        "Cauldron",
        {"images": [image(0)], "texts": [{"user": "What?", "assistant": "A shop.", "source": "s"}]},
        ["<image>\nWhat?", "A shop."],
        {},
    ),
    (
        "verl",
        GEO3K,
        ["<image>How long?", "3"],
        {name: GEO3K[name] for name in ("data_source", "ability", "extra_info")},
    ),
]


@pytest.mark.parametrize(("row", "turns", "extra"), [case[1:] for case in HELD], ids=[case[0] for case in HELD])
def test_a_row_becomes_a_sample(tmp_path: Path, row: dict, turns: list[str], extra: dict) -> None:
    pictures(tmp_path / "data", "shots/0.png")
    file = write(tmp_path / "train.parquet", row)
    (sample,) = take_in("hf", tmp_path / "data", tmp_path / "out.json", file)
    assert [turn["value"] for turn in sample.pop("conversations")] == turns
    assert [(tmp_path / "data" / name).read_bytes() for name in sample.pop("images")] == [screenshot(0)]
    assert sample == {"id": "train--0000001", **extra}


def test_what_json_cannot_hold_and_other_splits_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    odd = {"when": datetime.datetime(2026, 1, 1), "score": float("nan")}
    write(tmp_path / "set" / "data" / "train-0.parquet", {"messages": SAID, "images": [image(0)], **odd})
    write(tmp_path / "set" / "data" / "test-0.parquet", {"messages": SAID, "images": [image(0)]})
    assert len(take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / "set")) == 1
    told = "files of other splits than train (1), score of rows, which JSON cannot hold (1), when of rows"
    assert told in capsys.readouterr().err


def test_what_save_to_disk_and_image_folders_hold(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist([{"messages": SAID, "images": [image(number)]} for number in range(20)])
    (tmp_path / "disk").mkdir()
    with ipc.new_stream(tmp_path / "disk" / "data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table)
    samples = take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / "disk")
    assert [sample["images"] for sample in seen(samples, tmp_path / "images")] == [[screenshot(n)] for n in range(20)]
    pictures(tmp_path / "folder", "0.png", "1.png")
    (tmp_path / "folder" / "metadata.jsonl").write_text('{"file_name": "1.png", "text": "A shop."}\n')
    (sample,) = take_in("hf", tmp_path / "folder", tmp_path / "out2.json", tmp_path / "folder")
    assert (sample["images"], sample["conversations"][1]["value"]) == (["1.png"], "A shop.")


@pytest.mark.parametrize("kind", ["hf", "verl"])
def test_ours_come_back_and_make_the_same_shards(tmp_path: Path, kind: str) -> None:
    samples, images = write_samples(tmp_path)
    out = export(kind, samples, images, tmp_path / kind, max_samples_per_file=3)
    back = take_in(kind, tmp_path / "back", tmp_path / "back.json", out)
    assert sorted(back, key=lambda one: one["id"]) == json.loads(samples.read_text())
    assert shards(tmp_path / "back.json", tmp_path / "back", tmp_path / "s1") == shards(
        samples, images, tmp_path / "s2"
    )


def test_ours_are_what_datasets_reads(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install datasets: the library that reads these")
    samples, images = write_samples(tmp_path)
    out = export("hf", samples, images, tmp_path / "hf", max_samples_per_file=3, license="cc-by-4.0")
    read = datasets.load_dataset(str(out), split="train", cache_dir=str(tmp_path / "cache"))
    expected = json.loads(samples.read_text())
    assert read["id"][:] == [sample["id"] for sample in expected]
    for row, sample in zip(read, expected, strict=True):
        assert [turn["content"] for turn in row["messages"]] == [turn["value"] for turn in sample["conversations"]]
        assert [shown.size for shown in row["images"]] == [(32, 24)] * len(sample["images"])
    assert 'license: "cc-by-4.0"' in (out / "README.md").read_text() and "8 samples" in (out / "README.md").read_text()
    saved = tmp_path / "saved"
    read.save_to_disk(str(saved))
    back = take_in("hf", tmp_path / "back", tmp_path / "back.json", saved)
    assert seen(back, tmp_path / "back") == seen(expected, images)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"messages": SAID, "images": [{"bytes": b"GIF89a", "path": None}]}, "neither PNG"),
        ({"messages": SAID, "images": [{"bytes": None, "path": "../../etc/passwd"}]}, "not in"),
        ({"messages": SAID, "images": [image(0)], "id": "../x"}, "plain name"),
        ({"messages": SAID, "images": [image(0, "../x.png"), image(0)]}, "marks but 2"),
        ({"messages": "text", "images": [image(0)]}, "neither turns"),
        ({"messages": SAID, "images": [image(0)], "elcano": "[1"}, "no JSON object"),
        ({"messages": SAID, "images": [image(0)], "elcano": "[1]"}, "no JSON object"),
        ({"x": 1}, "neither turns"),
    ],
)
def test_a_row_that_lies_is_one_line(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    file = write(tmp_path / "in" / "train.parquet", row)
    with pytest.raises(UserError, match=r"train\.parquet") as error:
        take_in("hf", tmp_path / "images", tmp_path / "out.json", file)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "out.json").exists() and not list((tmp_path / "images").glob("*"))


def test_a_name_that_leads_outside_stays_inside(tmp_path: Path) -> None:
    file = write(tmp_path / "in" / "a.parquet", {"messages": SAID, "images": [image(0, "../../../up.png")]})
    (sample,) = take_in("hf", tmp_path / "images", tmp_path / "out.json", file)
    assert sample["images"] == ["up.png"] and (tmp_path / "images" / "up.png").read_bytes() == screenshot(0)
    other = write(tmp_path / "in" / "b.parquet", {"messages": SAID, "images": [image(1, "up.png")]})
    (sample,) = take_in("hf", tmp_path / "images", tmp_path / "out.json", other)
    assert sample["images"] == ["b--0000001.0.png"] and (tmp_path / "images" / "up.png").read_bytes() == screenshot(0)


def test_a_bomb_is_one_line(tmp_path: Path) -> None:
    """2,000 bytes that would become 250 MB: one picture that every row refers to."""
    table = pyarrow.table({"images": [[{"bytes": b"x" * 2**15}]]}).take(pyarrow.array(numpy.zeros(8000, "int64")))
    parquet.write_table(table, tmp_path / "bomb.parquet")
    with pytest.raises(UserError, match="would become more than"):
        take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / "bomb.parquet")
    for name, content in {"a.parquet": b"PAR1", "a.arrow": b"ARROW1" * 99}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=name):
            take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / name)


def test_bytes_are_an_image_where_they_begin_as_one(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    row = {"question": "q", "answer": "r", "sha256": b"12345678", "pixels": screenshot(0)}
    file = write(tmp_path / "a.parquet", row, {**row, "pixels": None})
    samples = take_in("hf", tmp_path / "images", tmp_path / "out.json", file)
    assert [len(sample["images"]) for sample in samples] == [1, 0]
    assert "left out: sha256 of rows, which JSON cannot hold (2)" in capsys.readouterr().err


def test_arrow_files_are_read_as_streams_of_it_are(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist([{"question": "q", "answer": str(number)} for number in range(40)])
    with pyarrow.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=15)
    samples = take_in("hf", tmp_path, tmp_path / "out.json", tmp_path / "a.arrow")
    assert [sample["conversations"][1]["value"] for sample in samples] == [str(number) for number in range(40)]
    (tmp_path / "b.arrow").write_bytes((tmp_path / "a.arrow").read_bytes()[:-40])
    with pytest.raises(UserError, match=r"b\.arrow: not an Arrow file or a damaged one"):
        take_in("hf", tmp_path, tmp_path / "no.json", tmp_path / "b.arrow")


def test_a_page_in_a_csv_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"question,answer\n{'q' * 200_000},r\n")
    (sample,) = take_in("hf", tmp_path, tmp_path / "out.json", tmp_path / "a.csv")
    assert len(sample["conversations"][0]["value"]) == 200_000
