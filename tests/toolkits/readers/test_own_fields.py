"""Fields of a sample whose names mean something in others' records come back as they went out."""

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from tests.toolkits.interchange import ALL_OUT, export, pictures, seen, take_in
from tests.toolkits.readers.test_rows import write as write_rows

SAMPLE: dict[str, Any] = {
    "id": "Shop--1",
    "images": ["a b.png"],
    "conversations": [{"from": "human", "value": "<image>What?"}, {"from": "gpt", "value": "A shop."}],
}
FIELDS: list[dict[str, Any]] = [
    {"messages": [{"role": "assistant", "content": "x"}], "prompt": "p", "conversation": []},
    {"answer": None, "response": "other", "solution": [1, 2], "chosen": "c", "rejected": "bad", "label": False},
    {"system": "S", "tools": [{"name": "click"}], "objects": {"ref": []}, "videos": ["a.mp4"], "history": [["a", "b"]]},
    {"image": "x.png", "image_path": "y.png", "screenshot": None, "text": "t", "caption": "", "texts": [{"user": "u"}]},
    {
        "elcano": {"a": 1},
        "reward": 1,
        "": "nameless",
        "empty": [],
        "none": None,
        "ability": "x",
        "extra_info": {"a": 0},
    },
    {"": None},
]


@pytest.mark.parametrize("kind", ALL_OUT)
def test_what_a_reader_would_read_stands_apart(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture) -> None:
    pictures(tmp_path / "images", "a b.png")
    samples = [{**SAMPLE, "id": f"Shop--{number}", **fields} for number, fields in enumerate(FIELDS)]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    out = export(kind, tmp_path / "samples.json", tmp_path / "images", tmp_path / "out")
    files = {"messages": "train.jsonl", "llava": "train.json", "ms_swift": "train.jsonl", "verl": "train.parquet"}
    images = out if kind in ("llava", "ms_swift", "llama_factory") else tmp_path / "back"
    back = take_in(kind, images, tmp_path / "back.json", out / files.get(kind, "."))
    assert seen(back, images) == seen(samples, tmp_path / "images")
    assert not capsys.readouterr().err


def test_fields_without_a_meaning_stand_beside_the_turns(tmp_path: Path) -> None:
    pictures(tmp_path / "images", "a b.png")
    (tmp_path / "samples.json").write_text(json.dumps([{**SAMPLE, "reward": 1, "answer": "x"}]))
    export("ms_swift", tmp_path / "samples.json", tmp_path / "images", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "train.jsonl").read_text())
    assert record["reward"] == 1 and "answer" not in record
    assert json.loads(record["elcano"]) == {"answer": "x"}


def test_what_stands_apart_replaces_neither_turns_nor_images(tmp_path: Path) -> None:
    own = {"images": ["../../secret.png"], "conversations": [], "id": "..", "reward": 1}
    (tmp_path / "a.jsonl").write_text(json.dumps({"query": "q", "response": "r", "elcano": json.dumps(own)}))
    (sample,) = take_in("messages", tmp_path, tmp_path / "back.json", tmp_path / "a.jsonl")
    assert (sample["images"], len(sample["conversations"]), sample["reward"]) == ([], 2, 1)
    write_rows(tmp_path / "a.parquet", {"question": "q", "answer": "r", "elcano": "[1]"})
    with pytest.raises(UserError, match="row 1: its elcano is no JSON object"):
        take_in("hf", tmp_path, tmp_path / "no.json", tmp_path / "a.parquet")
