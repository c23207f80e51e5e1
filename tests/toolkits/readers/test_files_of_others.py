"""What files of the field look like when nobody wrote them for us: spellings, endings, packing, ids that come again."""

import base64
import bz2
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from tests.toolkits.interchange import pictures, take_in
from tests.toolkits.readers.test_conversations import say
from tests.toolkits.readers.test_webdataset_tars import picture, write
from tests.toolkits.trajectories import screenshot
from toolkits import convert_foreign_tars
from toolkits.readers.detect import detect

HI = {"messages": say("Hi")}
ASKED, GOOD, BAD = (
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Ho"},
    {"from": "gpt", "value": "x"},
)
DATA = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(screenshot(1)).decode()}
CALLED = '<tool_call>\n{"name": "click", "arguments": {"x": 1}}\n</tool_call>'
SPELLINGS: list[tuple[str, dict[str, Any], list[str], list[int]]] = [
    ("images of a last question", {"messages": [*say("<image>a"), *say("<image>b")[:1]], "images": ["0.png", "1.png"]},
     ["<image>a", "Ho"], [0]),
    ("an empty field beside the one", {"messages": say("<image>a"), "images": [], "image": "1.png"},
     ["<image>a", "Ho"], [1]),
    ("a name that is empty", {"messages": say("a"), "image": ""}, ["a", "Ho"], []),
    ("an image that is null", {"messages": say("a"), "images": [None]}, ["a", "Ho"], []),
    ("images of a turn", {"messages": [{**ASKED, "images": ["1.png"]}, GOOD]}, ["<image>\nHi", "Ho"], [1]),
    ("parts without a type", {"messages": say([{"image": "0.png"}, {"text": "a"}], [{"text": "b"}])},
     ["<image>a", "b"], [0]),
    ("parts of Anthropic's", {"messages": [
        *say([{"type": "image", "source": DATA}, {"type": "text", "text": "a"}],
             [{"type": "text", "text": "b"}, {"type": "tool_use", "name": "click", "input": {"x": 1}}]),
        *say([{"type": "tool_result", "content": [{"type": "text", "text": "c"}]}])]},
     ["<image>a", f"b\n{CALLED}", "<tool_response>\nc\n</tool_response>", "Ho"], [1]),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
                   "output": [{"role": "assistant", "content": [{"type": "output_text", "text": "b"}]}]},
     ["a", "b"], []),
    ("roles in capitals", {"conversations": [{"from": "Human", "value": "Hi"}, {"from": "GPT", "value": "Ho"}]},
     ["Hi", "Ho"], []),
    ("turns as a text", {"conversations": json.dumps(say("Hi"))}, ["Hi", "Ho"], []),
    ("TRL", {"prompt": [ASKED], "completion": [GOOD]}, ["Hi", "Ho"], []),
    ("TRL's preferences", {"prompt": [ASKED], "chosen": [GOOD], "rejected": [BAD]}, ["Hi", "Ho"], []),
    ("whole preferences", {"chosen": [ASKED, GOOD], "rejected": [ASKED, BAD]}, ["Hi", "Ho"], []),
    ("Alpaca's preferences", {"instruction": "Hi", "chosen": "Ho", "rejected": "No"}, ["Hi", "Ho"], []),
    ("a number", {"question": "1 + 1?", "answer": 2}, ["1 + 1?", "2"], []),
    ("several right answers", {"question": "Hi", "answer": ["Ho", "Hey"]}, ["Hi", "Ho"], []),
    ("a path from the file", {"messages": say("<image>"), "images": ["../data/0.png"]}, ["<image>", "Ho"], [0]),
    ("a path of Windows", {"messages": say("<image>"), "images": ["D:\\set\\data\\1.png"]}, ["<image>", "Ho"], [1]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "turns", "images"), [one[1:] for one in SPELLINGS], ids=[one[0] for one in SPELLINGS]
)
def test_a_spelling_is_read_as_it_is_meant(
    tmp_path: Path, entry: dict[str, Any], turns: list[str], images: list[int]
) -> None:
    pictures(tmp_path / "data", "0.png", "1.png")
    (tmp_path / "all.jsonl").write_text(json.dumps(entry) + "\n")
    (sample,) = take_in("messages", tmp_path / "data", tmp_path / "out.json", tmp_path / "all.jsonl")
    assert [turn["value"] for turn in sample["conversations"]] == turns
    assert [(tmp_path / "data" / name).read_bytes() for name in sample["images"]] == [screenshot(one) for one in images]
    assert sample.keys() == {"id", "images", "conversations"}


UNSAID = [
    ({"messages": [ASKED, {"role": "assistant", "content": None}]}, "replies that say nothing (1)"),
    ({"question": "Hi", "answer": None}, "samples without a reply (1)"),
    ({"prompt": [ASKED], "reward_model": {"ground_truth": {"target": 1}}}, "answers that are no text (1)"),
]


@pytest.mark.parametrize(("entry", "said"), UNSAID)
def test_a_record_without_a_reply_stops_no_import(
    tmp_path: Path, entry: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all.json").write_text(json.dumps([entry, HI]))
    assert len(take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "all.json")) == 1
    assert said in capsys.readouterr().err


def test_ids_of_images_come_again_also_from_file_to_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in LLaVA-Instruct-150K; each keeps the picture that it holds."""
    for name in ("a", "b"):
        told = {"id": "0033471", "question": "Hi", "answer": "Ho"}
        rows = [{**told, "image": {"bytes": picture(color=n), "path": None}} for n in range(2)]
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    samples = take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert [sample["id"] for sample in samples] == ["0033471", "0033471--2", "0033471--3", "0033471--4"]
    shown = [(tmp_path / "images" / name).read_bytes() for sample in samples for name in sample["images"]]
    assert shown == [picture(color=n) for n in (0, 1, 0, 1)]
    assert "records whose id comes again, with a number behind it (3)" in capsys.readouterr().err


def zstd(content: bytes) -> bytes:
    return pyarrow.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.JSONL", bytes), ("a.ndjson", bytes), ("a.jsonl.gz", gzip.compress), ("a.jsonl.bz2", bz2.compress),
     ("a.jsonl.zst", zstd), ("b/train/a.json", bytes)],
)  # fmt: skip
@pytest.mark.parametrize("given", ["file", "folder"])
def test_json_by_any_ending(tmp_path: Path, name: str, pack: Callable[[bytes], bytes], given: str) -> None:
    for path in (name, ".ipynb_checkpoints/b.jsonl", "b/test/a.jsonl"):
        (tmp_path / "set" / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "set" / ".ipynb_checkpoints" / "b.jsonl").write_text("damaged")
    (tmp_path / "set" / name).write_bytes(pack(json.dumps(HI).encode() + b"\n" + json.dumps(HI).encode()))
    path = tmp_path / "set" / name if given == "file" else tmp_path / "set"
    assert detect(path) == "messages"
    assert len(take_in("auto", tmp_path, tmp_path / "out.json", path)) == 2


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.jsonl.gz", "a.jsonl.bz2"])
def test_what_is_packed_and_cut_is_one_line(tmp_path: Path, name: str) -> None:
    pack = {"zst": zstd, "gz": gzip.compress, "bz2": bz2.compress}[name.rpartition(".")[2]]
    (tmp_path / name).write_bytes(pack(json.dumps(HI).encode() * 50)[:30])
    with pytest.raises(UserError, match=rf"{name}.* cannot be unpacked \(.+\)$"):
        take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / name)


def test_a_cell_of_a_csv_may_have_lines(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_bytes(b'\xef\xbb\xbffile_name,text\r\n0.png,"one,\r\ntwo"\r\n')
    pictures(tmp_path, "0.png")
    (sample,) = take_in("hf", tmp_path, tmp_path / "out.json", tmp_path)
    assert sample["conversations"][1]["value"] == "one,\r\ntwo" and sample["images"] == ["0.png"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder"])
def test_dataset_info_names_any_kind_of_file(tmp_path: Path, kind: str) -> None:
    row = {"instruction": "Hi", "input": "", "output": "Ho"}
    name = {"folder": "parts"}.get(kind, f"x.{kind}")
    if kind == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / name)
    elif kind == "csv":
        (tmp_path / name).write_text("instruction,input,output\nHi,,Ho\n")
    else:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_text(json.dumps(row))
    (tmp_path / "dataset_info.json").write_text(json.dumps({"x": {"file_name": name}}))
    (sample,) = take_in("llama_factory", tmp_path, tmp_path / "out.json", tmp_path)
    assert [turn["value"] for turn in sample["conversations"]] == ["Hi", "Ho"]


def test_a_tar_shows_its_images_in_the_order_that_is_meant(tmp_path: Path) -> None:
    """As the json names them, else as people count."""
    members = {f"{key}.img{n}.png": picture(color=n) for key in "ab" for n in (10, 2)}
    told = {"messages": say("<image><image>")}
    write(tmp_path / "t.tar", {**members, "a.json": json.dumps(told).encode(), "b.json": json.dumps(
        {**told, "images": ["shots/b.img10.png", "shots/b.img2.png"]}).encode()})  # fmt: skip
    samples = take_in("webdataset", tmp_path, tmp_path / "out.json", tmp_path / "t.tar")
    for sample, order in zip(samples, [(2, 10), (10, 2)], strict=True):
        assert [(tmp_path / name).read_bytes() for name in sample["images"]] == [picture(color=n) for n in order]


@pytest.mark.parametrize(("name", "pack"), [("0.tar.bz2", bz2.compress), ("0.tar.zst", zstd), ("0.tar", bytes)])
def test_a_folder_of_img2dataset_trains(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    """Its tables beside the tars name addresses alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, content in (("0.jpg", picture("JPEG")), ("0.txt", b"A shop.")):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / name).write_bytes(pack(buffer.getvalue()))
    parquet.write_table(
        pyarrow.table({"url": ["http://x/0.jpg"], "caption": ["A shop."]}), tmp_path / "set" / "0.parquet"
    )
    assert detect(tmp_path / "set") == "webdataset"
    shards = convert_foreign_tars.convert(tmp_path / "set")
    assert json.loads((shards / "manifest.json").read_text())["num_samples"] == 1


def test_a_json_of_turns_alone_and_a_folder_of_several_images(tmp_path: Path) -> None:
    tar = write(tmp_path / "a.tar", {"1.png": picture(), "1.json": json.dumps(say("<image>Hi")).encode()})
    (sample,) = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert sample["conversations"][0]["value"] == "<image>Hi" and len(sample["images"]) == 1
    pictures(tmp_path / "set", "0.png", "1.png")
    row = {"file_names": ["1.png", "0.png"], "question": "Hi", "answer": "Ho"}
    (tmp_path / "set" / "metadata.jsonl").write_text(json.dumps(row))
    (sample,) = take_in("hf", tmp_path / "set", tmp_path / "out.json", tmp_path / "set")
    assert sample["images"] == ["1.png", "0.png"]


def test_folders_of_tars_with_the_same_names(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / "set" / folder).mkdir(parents=True)
        write(tmp_path / "set" / folder / "00000.tar", {"1.png": picture(), "1.txt": folder.encode()})
    samples = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tmp_path / "set")
    assert [sample["id"] for sample in samples] == ["a_00000--1", "b_00000--1"]


def test_a_tar_in_which_a_picture_has_no_text_gives_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = {"1.png": picture(), "1.txt": b"Type <image> here.", "2.png": picture(), "3.txt": b"alone"}
    (sample,) = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", write(tmp_path / "a.tar", members))
    assert [turn["value"] for turn in sample["conversations"]] == ["<image>", "Type < image> here."]
    assert "samples that have neither turns nor an image with a text (2)" in capsys.readouterr().err


def test_a_mark_that_an_agent_typed_is_no_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path, "0.png")
    (tmp_path / "all.json").write_text(
        json.dumps([{"messages": say("<image>Hi", "Use <image>."), "images": ["0.png"]}])
    )
    (sample,) = take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "all.json")
    assert sample["conversations"][1]["value"] == "Use < image>."
    assert "replies in which <image> is typed, with a space (1)" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["messages", "llava", "hf"])
def test_pictures_that_are_not_there_leave_out_their_records(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of LLaVA's mix, whose OCR-VQA part has to be fetched one by one; a path that leads elsewhere is refused."""
    pictures(tmp_path, "0.png")
    turns = [{"from": "human", "value": "<image>Hi"}, {"from": "gpt", "value": "Ho"}]
    rows = [{"image": name, "conversations": turns} for name in ("ocr_vqa/images/1.jpg", "0.png", "gqa/2.jpg")]
    file = tmp_path / ("all.parquet" if kind == "hf" else "all.json")
    for given in (rows, rows[:1]):
        if kind == "hf":
            parquet.write_table(pyarrow.Table.from_pylist(given), file)
        else:
            file.write_text(json.dumps(given))
        if given is rows:
            assert [one["images"] for one in take_in(kind, tmp_path, tmp_path / "out.json", file)] == [["0.png"]]
            said = capsys.readouterr().err
            assert "samples of which an image is not there (2)" in said and "ocr_vqa/images/1.jpg is not in" in said
        else:
            with pytest.raises(UserError, match=r"its image ocr_vqa/images/1\.jpg is not in"):
                take_in(kind, tmp_path, tmp_path / "out.json", file)
