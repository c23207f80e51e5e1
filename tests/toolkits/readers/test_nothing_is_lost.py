"""What a sceptic lost on the way in and out: each is kept, counted in a line, or refused by name."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from common.errors import UserError
from tests.toolkits.interchange import export, pictures, take_in
from tests.toolkits.readers.test_rows import image
from tests.toolkits.readers.test_rows import write as write_rows
from tests.toolkits.readers.test_webdataset_tars import SAYS, picture, write
from tests.toolkits.trajectories import screenshot
from toolkits import convert_action_space, convert_foreign_tars, import_data, inspect_data, mix_data
from toolkits.readers.detect import detect

ASKED = {"query": "What?", "response": "A shop."}
ONE, OTHER = picture(color=1), picture(color=2)


def said(sample: dict[str, Any]) -> list[str]:
    return [turn["value"] for turn in sample["conversations"]]


@pytest.mark.parametrize(
    ("members", "keys"),
    [
        ({"1700.0.png": ONE, "1700.0.txt": b"a", "1700.5.png": OTHER, "1700.5.txt": b"b"}, {"1700.0": 1, "1700.5": 1}),
        ({"v1.0.png": ONE, "v1.0.json": SAYS, "v1.1.png": OTHER, "v1.1.json": SAYS}, {"v1.0": 1, "v1.1": 1}),
        ({"k.0.png": ONE, "k.1.png": OTHER, "k.json": SAYS}, {"k": 2}),
        (
            {"k.0.png": ONE, "k.1.png": OTHER, "k.json": SAYS, "1.0.png": ONE, "1.0.txt": b"a", "1.2.txt": b"b"}
            | {"1.2.png": OTHER},
            {"k": 2, "1.0": 1, "1.2": 1},
        ),
        ({"a.b.png": ONE, "a.b.txt": b"a", "a.png": OTHER, "a.txt": b"b"}, {"a.b": 1, "a": 1}),
    ],
)
def test_keys_that_end_in_numbers(tmp_path: Path, members: dict[str, bytes], keys: dict[str, int]) -> None:
    (tmp_path / "set").mkdir()
    tar = write(tmp_path / "set" / "a.tar", members)
    samples = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert {sample["id"]: len(sample["images"]) for sample in samples} == keys
    shards = convert_foreign_tars.convert(tmp_path / "set")
    assert json.loads((shards / "manifest.json").read_text())["num_samples"] == len(keys)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"k.0.png": ONE, "k.0.json": SAYS, "k.json": SAYS}, "sample 'k': is 'k.0.png' of it"),
        ({"k.0.png": ONE, "k.0.txt": b"a", "k.1.png": OTHER}, "sample 'k.1': has neither"),
        ({"k.png": ONE, "k.txt": b"a", "k.caption.txt": b"b"}, "several texts (txt, caption.txt)"),
        ({"k.png": ONE, "k.json": b'{"a": 1}', "k.caption.json": b'{"a": 2}'}, "say different a"),
    ],
)
def test_what_may_be_of_either_is_refused(tmp_path: Path, members: dict[str, bytes], told: str) -> None:
    tar = write(tmp_path / "a.tar", members)
    with pytest.raises(UserError) as error:
        take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert told in str(error.value) and not list(tmp_path.glob("images/*"))


def test_a_blank_caption_a_further_image_and_fields_beside_a_text(tmp_path: Path, capsys) -> None:
    fields = json.dumps({"url": "u", "caption": "other", "input": "x"}).encode()
    members = {"a.png": ONE, "a.depth.png": OTHER, "a.txt": b"A shop.", "a.json": fields, "b.png": ONE, "b.txt": b" "}
    (tmp_path / "set").mkdir()
    tar = write(tmp_path / "set" / "a.tar", members)
    (sample,) = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    told = capsys.readouterr().err
    assert "samples whose text is blank (1)" in told and "depth.png, as further inputs (1)" in told
    assert (sample["url"], sample["caption"], sample["input"]) == ("u", "other", "x")
    assert said(sample) == ["<image><image>", "A shop."]
    convert_foreign_tars.convert(tmp_path / "set")
    assert "taken in: members that end in depth.png" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["hf", "messages", "llava"])
@pytest.mark.parametrize("field", ["image_path", "img", "screenshot"])
def test_paths_in_fields_of_other_names(tmp_path: Path, kind: str, field: str) -> None:
    pictures(tmp_path / "data", "0.png")
    turns = [{"from": "human", "value": "What?"}, {"from": "gpt", "value": "A shop."}]
    entry = {field: "0.png", **({"conversations": turns} if kind == "llava" else ASKED)}
    (tmp_path / "a.json").write_text(json.dumps([entry]))
    file = write_rows(tmp_path / "a.parquet", entry) if kind == "hf" else tmp_path / "a.json"
    (sample,) = take_in(kind, tmp_path / "data", tmp_path / "out.json", file)
    assert sample["images"] == ["0.png"] and said(sample) == ["<image>\nWhat?", "A shop."] and field not in sample


def test_a_column_that_names_files_is_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = write_rows(tmp_path / "a.parquet", *[{"shown_file": "0.png", **ASKED}] * 2)
    assert len(take_in("hf", tmp_path, tmp_path / "out.json", file)) == 2
    assert "no image in 2 of 2 records; fields that name files there: shown_file" in capsys.readouterr().err


def test_further_fields_stay_and_question_and_answer_win(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    row = {"image": image(0), "text": "cap", "question": "What?", "answer": "A shop.", "label": 0, "reward": 0.5}
    file = write_rows(tmp_path / "a.parquet", {**row, "mask": image(1), "objects": {"id": [1]}, "functions": "f"})
    (sample,) = take_in("hf", tmp_path / "images", tmp_path / "out.json", file)
    assert said(sample)[-1] == "A shop." and "What?" in said(sample)[0] and len(sample["images"]) == 1
    assert [sample[name] for name in ("text", "label", "reward", "objects")] == ["cap", 0, 0.5, {"id": [1]}]
    assert "images of the column mask, beside others (1)" in capsys.readouterr().err
    entry = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "answer": "c"}
    (tmp_path / "a.jsonl").write_text(json.dumps({**entry, "chosen": "d", "prompt": "e", "solution": "f"}))
    (sample,) = take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")
    assert [sample[name] for name in ("answer", "chosen", "prompt", "solution")] == ["c", "d", "e", "f"]


def test_an_output_that_is_an_input_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(ASKED))
    (tmp_path / "link.jsonl").symlink_to(file)
    for run in (
        lambda: take_in("messages", tmp_path, tmp_path / "link.jsonl", file),
        lambda: inspect_data.main(inspect_data.Config((str(file),), output=str(file))),
        lambda: mix_data.main(mix_data.Config(str(file), str(file))),
        lambda: convert_action_space.main(convert_action_space.Config(tmp_path, tmp_path, "webvoyager")),
    ):
        with pytest.raises(UserError, match="this is the input"):
            run()
    assert json.loads(file.read_text()) == ASKED


def test_what_goes_out_changes_nothing_here(tmp_path: Path) -> None:
    pictures(tmp_path / "images", "0.png")
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]
    samples = tmp_path / "samples.json"
    samples.write_text(json.dumps([{"id": "a", "images": ["0.png"], "conversations": turns}]))
    out = export("ms_swift", samples, tmp_path / "images", tmp_path / "out")
    with open(out / "images" / "0.png", "r+b") as file:
        file.truncate(3)
    assert (tmp_path / "images" / "0.png").read_bytes() == screenshot(0)
    samples.write_text(
        json.dumps([{"id": "a", "images": [], "conversations": turns, "reward": 1}]).replace("1}", "NaN}")
    )
    samples.write_text(samples.read_text().replace("<image>", "q"))
    for kind in ("hf", "ms_swift", "llava", "verl"):
        with pytest.raises(UserError, match=r"sample a: holds .*NaN"):
            export(kind, samples, tmp_path / "images", tmp_path / f"nan-{kind}")


def broken() -> dict[str, bytes]:
    file, whole = io.BytesIO(), screenshot(0)
    Image.new("1", (9000, 9000)).save(file, "PNG")
    gif = io.BytesIO()
    Image.new("RGB", (4, 4)).save(gif, "GIF")
    return {"empty": b"", "cut": whole[:-20], "gif": gif.getvalue(), "huge": file.getvalue()}


@pytest.mark.parametrize("kind", ["empty", "cut", "gif", "huge"])
def test_a_broken_picture_is_named_on_each_road(tmp_path: Path, kind: str) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "x.png").write_bytes(broken()[kind])
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]
    record = {"id": "a", "images": ["x.png"], "conversations": turns}
    (tmp_path / "a.json").write_text(json.dumps([record]))
    for road in ("messages", "llava"):
        with pytest.raises(UserError, match=r"x\.png: "):
            take_in(road, tmp_path / "images", tmp_path / "out.json", tmp_path / "a.json")
    for road in ("ms_swift", "hf", "webdataset"):
        with pytest.raises(UserError, match=r"sample a: .*x\.png: "):
            export(road, tmp_path / "a.json", tmp_path / "images", tmp_path / road)
    tar = write(tmp_path / "a.tar", {"s.png": broken()[kind], "s.txt": b"t"})
    with pytest.raises(UserError, match=r"sample 's': s\.png: "):
        take_in("webdataset", tmp_path / "w", tmp_path / "out.json", tar)
    assert not (tmp_path / "out.json").exists() and not list(tmp_path.glob("w/*"))


def test_nan_is_refused_with_its_record(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({**ASKED, "id": "n1", "reward": float("nan")}))
    with pytest.raises(UserError, match=r"a\.jsonl: sample n1: holds .*NaN"):
        take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")


def test_what_auto_finds(tmp_path: Path) -> None:
    line = json.dumps({**ASKED, "image": "0.png"})
    pictures(tmp_path / "set" / "train", "0.png")
    with open(tmp_path / "set" / "train" / "metadata.csv", "w", newline="") as file:
        csv.writer(file).writerows([["file_name", "text"], ["0.png", "A shop, red."]])
    (sample,) = take_in("auto", tmp_path / "set", tmp_path / "out.json", tmp_path / "set")
    assert (sample["images"], said(sample)) == (["train/0.png"], ["<image>", "A shop, red."])
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(f"{line}\n{line}\n".encode()))
    shown = tmp_path / "set" / "train"
    assert len(take_in("auto", shown, tmp_path / "out.json", tmp_path / "a.jsonl.gz")) == 2
    (tmp_path / "lines").mkdir()
    for name in ("a", "b"):
        (tmp_path / "lines" / f"{name}.jsonl").write_text(line)
    assert len(take_in("auto", shown, tmp_path / "out.json", tmp_path / "lines")) == 2
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(UserError, match=r"none\.jsonl: an empty file"):
        detect(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="an address; nothing is fetched here"):
        import_data.main(import_data.Config("auto", ("https://example.com/a.jsonl",), save_json_file="o.json"))
