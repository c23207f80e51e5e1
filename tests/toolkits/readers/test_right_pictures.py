"""The picture that a record means, and no other: ends of paths, kinds of files, gaps among many."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from common.errors import UserError
from tests.toolkits.interchange import pictures, take_in
from tests.toolkits.readers.test_conversations import say
from tests.toolkits.readers.test_tars_of_others import VQA, energon
from tests.toolkits.readers.test_webdataset_tars import picture, write
from tests.toolkits.trajectories import screenshot
from toolkits import import_data, mix_data
from toolkits.readers.detect import detect
from toolkits.samples.sources import Source, open_samples


def asked(path: Path, *names: str) -> Path:
    path.write_text("".join(json.dumps({"messages": say("<image>a"), "images": [name]}) + "\n" for name in names))
    return path


def shown(tmp_path: Path, folder: str, *names: str) -> list[str]:
    file = asked(tmp_path / "a.jsonl", *names)
    return [one["images"][0] for one in take_in("messages", tmp_path / folder, tmp_path / "out.json", file)]


@pytest.mark.parametrize("order", [1, -1])
def test_the_end_of_a_path_is_no_other_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str], order: int) -> None:
    pictures(tmp_path / "a", "1.png", "2.png")
    assert sorted(shown(tmp_path, "a", *["a/2.png", "b/1.png", "1.png"][::order])) == ["1.png", "2.png"]
    told = capsys.readouterr().err
    assert "samples of which an image is not there (1)" in told and "its image b/1.png is not in" in told
    with pytest.raises(UserError, match=r"its image \.\./c/1\.png is not in"):
        shown(tmp_path, "a", "../c/1.png")


@pytest.mark.parametrize(
    ("folder", "names", "found"),
    [
        ("a", ["a/1.png", "2.png"], ["1.png", "2.png"]),
        ("x/a", ["x/a/1.png", "y/a/1.png", "a/2.png"], ["1.png", "2.png"]),
        ("a", ["/home/u/b/1.png", "/home/u/b/2.png"], ["1.png", "2.png"]),
        ("a", ["C:\\u\\b\\d\\1.png", "C:\\u\\b\\2.png"], ["d/1.png", "2.png"]),
        ("a", ["d/1.png", "a/d/1.png"], ["d/1.png", "d/1.png"]),
        ("a", ["d/1.png", "d/2.png"], ["d/1.png"]),
    ],
)
def test_what_stands_before_an_end_is_the_same_for_all(
    tmp_path: Path, folder: str, names: list[str], found: list[str]
) -> None:
    pictures(tmp_path / folder, "1.png", "2.png", "d/1.png")
    assert shown(tmp_path, folder, *names) == found


def test_a_line_says_which_ends_were_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "a", "1.png", "2.png")
    shown(tmp_path, "a", "/home/u/b/1.png", "/home/u/b/2.png")
    assert "a: 2 paths of images found there by their ends, as 1.png for home/u/b/1.png" in capsys.readouterr().err
    file = asked(tmp_path / "a.jsonl", "a/1.png")
    (tmp_path / "scratch").mkdir()
    (one,) = open_samples(Source(file, "messages", tmp_path / "a"), tmp_path / "scratch")
    assert one.sample.read_images() == [screenshot(0)]
    assert f"{tmp_path / 'a'}: 1 paths of images found there by their ends" in capsys.readouterr().err


def test_paths_of_several_folders_are_not_one(tmp_path: Path) -> None:
    pictures(tmp_path / "a", "1.png")
    with pytest.raises(UserError, match=r"a\.jsonl:2: .*c/1\.png is not in"):
        shown(tmp_path, "a", "/home/u/b/1.png", "/home/u/c/1.png")
    with pytest.raises(UserError, match=r"/a/1\.png is 1\.png there, and home/u/b/1\.png was taken for 1\.png"):
        shown(tmp_path, "a", "/home/u/b/1.png", "/home/u/a/1.png")


def encoded(kind: str, image: Image.Image, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("road", ["hf", "webdataset", "messages"])
def test_other_kinds_of_pictures_become_png(tmp_path: Path, kind: str, road: str) -> None:
    image = Image.frombytes("RGB", (8, 8), bytes(range(192))).quantize(32).convert("RGB")
    content, name = encoded(kind, image), f"x.{kind.lower()}"
    file, folder = tmp_path / "a.parquet", tmp_path / "images"
    folder.mkdir()
    if road == "hf":
        rows = [{"messages": say("<image>a"), "images": [{"bytes": content, "path": path}]} for path in (name, None)]
        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    elif road == "webdataset":
        file = write(tmp_path / "a.tar", {f"s.{kind.lower()}": content, "s.txt": b"A."})
    else:
        (folder / name).write_bytes(content)
        file = asked(tmp_path / "a.jsonl", name)
    samples = take_in(road, folder, tmp_path / "out.json", file)
    names = [one["images"][0] for one in samples]
    assert len(names) == (2 if road == "hf" else 1)
    for one in names:
        with Image.open(folder / one) as found:
            assert found.format == "PNG" and one.endswith(".png")
            assert found.convert("RGB").tobytes() == image.tobytes()


def test_a_tiff_that_no_png_holds_is_named(tmp_path: Path) -> None:
    rows = [
        {"messages": say("<image>a"), "images": [{"bytes": encoded("TIFF", Image.new("CMYK", (4, 4))), "path": None}]}
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"row 1: .*neither PNG, JPEG nor WebP, nor a TIFF that can become one"):
        take_in("hf", tmp_path / "images", tmp_path / "out.json", tmp_path / "a.parquet")


def test_tars_by_the_notation_of_webdataset(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"s-{number:03}.tar", {"k.png": picture(color=number), "k.txt": b"A."})
    given = tmp_path / "s-{000..001}.tar"
    assert detect(given) == "webdataset"
    samples = take_in("auto", tmp_path / "images", tmp_path / "out.json", given)
    assert [one["id"] for one in samples] == ["s-000--k", "s-001--k"]
    with pytest.raises(UserError, match=r"s-003\.tar"):
        take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tmp_path / "s-{002..003}.tar")
    (tmp_path / "mix.toml").write_text('[[source]]\npath = "s-{001..002}.tar"\nimage_dir = "."\n')
    mix_data.main(mix_data.Config(str(tmp_path / "mix.toml"), str(tmp_path / "shards"), 1))


def test_a_sample_of_energon_without_a_caption_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = energon(tmp_path / "set", VQA)
    write(folder / "t_1.tar", {"k.png": picture(), "k.json": b"[]", "m.png": picture(), "m.json": b'[{"value": "a"}]'})
    assert [one["id"] for one in take_in("energon", tmp_path / "i", tmp_path / "out.json", folder)] == ["t_0--k"]
    assert "samples that have neither turns nor an image with a text (2)" in capsys.readouterr().err


def test_auto_looks_behind_an_empty_record(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("{}\n" + json.dumps({"messages": say("Hi")}) + "\n")
    assert detect(file) == "messages"


def history(screenshot_path: str = "") -> str:
    state = {"url": "http://shop/", "title": "Shop"}
    state |= (
        {"screenshot_path": screenshot_path}
        if screenshot_path
        else {"screenshot": base64.b64encode(screenshot(0)).decode()}
    )
    step = {"model_output": {"action": [{"click": {"index": 1}}]}, "result": [], "state": state}
    return json.dumps({"history": [step]})


def test_a_history_whose_picture_is_not_there_leaves_out_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"{name}.json" for name in ("gone", "empty", "here")]
    for file, said in zip(files, (history("/tmp/u/step_1.png"), '{"history": []}', history()), strict=True):
        file.write_text(said)
    config = import_data.Config("browser_use", tuple(map(str, files)), str(tmp_path), result_dir=str(tmp_path / "out"))
    import_data.main(config)
    said = capsys.readouterr()
    assert "out: 1 trajectories" in said.out and [one.name for one in (tmp_path / "out").iterdir()] == [
        "taskbrowser_use--1--run0"
    ]
    assert "an image is not there (1), trajectories without a step of an agent (1)" in said.err
    with pytest.raises(UserError, match=r"step_1\.png is not in"):
        import_data.to_trajectories(
            import_data.dataclasses.replace(config, input_files=(str(files[0]),), result_dir=str(tmp_path / "b"))
        )
