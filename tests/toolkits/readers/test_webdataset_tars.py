"""Webdataset tars of others are taken in, or named with what they lack; the samples are what webdataset reads."""

import io
import json
import tarfile
from pathlib import Path

import pytest
import webdataset
from PIL import Image

from common.errors import UserError
from data.shards.shard import read_manifest, read_shard
from toolkits import convert_to_tar_data, inspect_data
from toolkits.import_data import Config, main

TURNS = {"conversations": [{"from": "human", "value": "What?"}, {"from": "gpt", "value": "Thought: a\n\nAction: Wait"}]}


def picture(kind: str = "PNG", color: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (color, 0, 0)).save(file, kind)
    return file.getvalue()


def write(path: Path, members: dict[str, bytes], mode: str = "w", style: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, mode, format=style) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), 1.5  # which only a PAX header can hold
            if name.endswith("/"):
                info.type, info.size = tarfile.DIRTYPE, 0
            tar.addfile(info, io.BytesIO(content) if info.size else None)
    return path


def taken_in(folder: Path, *tars: Path) -> list[dict]:
    main(Config("webdataset", tuple(map(str, tars)), str(folder / "images"), str(folder / "samples.json")))
    return json.loads((folder / "samples.json").read_text())


SAYS = json.dumps(TURNS).encode()
GOOD = {
    "other spelling of the kind": {"a.0.jpeg": picture("JPEG"), "a.json": SAYS},
    "upper case": {"a.0.JPG": picture("JPEG"), "a.JSON": SAYS},
    "a point in front": {"./": b"", "./a.0.png": picture(), "./a.json": SAYS},
    "folders": {"x/": b"", "x/a.png": picture(), "x/a.json": SAYS},
    "no number": {"a.jpg": picture("JPEG"), "a.json": SAYS},
    "named image": {"a.image.webp": picture("WEBP"), "a.json": SAYS},
    "a wrong name of the kind": {"a.png": picture("JPEG"), "a.json": SAYS},
    "caption": {"a.jpg": picture("JPEG"), "a.caption.txt": b"A shop."},
    "caption in json": {"a.jpg": picture("JPEG"), "a.json": b'\xef\xbb\xbf{"caption": "A shop.", "url": "x"}'},
    "sorted by kind": {"a.png": picture(), "b.png": picture(), "a.txt": b"A shop.", "b.txt": "Café".encode("utf-16")},
    "others' leavings": {".DS_Store": b"x", "__MACOSX/._a.png": b"x", "a.png": picture(), "a.txt": b"t", "a.cls": b"1"},
    "a long name": {f"{'long/' * 40}a.png": picture(), f"{'long/' * 40}a.txt": b"A shop."},
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("ending", ["tar", "tgz"])
def test_a_tar_of_others_goes_the_whole_way(tmp_path: Path, kind: str, ending: str, capsys) -> None:
    tar = write(tmp_path / f"a.{ending}", GOOD[kind], "w" if ending == "tar" else "w:gz")
    if "long" in kind:
        with pytest.raises(UserError, match="so at most 200"):
            taken_in(tmp_path, tar)
        return
    samples = taken_in(tmp_path, tar)
    assert ("cls" in capsys.readouterr().err) is (kind == "others' leavings")
    assert len(samples) == (2 if "sorted" in kind else 1)
    assert all(sample["conversations"][0]["value"].count("<image>") == 1 for sample in samples)
    files = [str(tmp_path / "samples.json")]
    shards = tmp_path / "shards"
    convert_to_tar_data.main(
        convert_to_tar_data.Config(tuple(files), (str(tmp_path / "images"),), str(shards), num_workers=1)
    )
    packed = [s for entry in read_manifest(shards)["shards"] for s in read_shard(shards / entry["url"])]
    images = [value for name, value in GOOD[kind].items() if name.lower().endswith(("png", "jpg", "jpeg", "webp"))]
    assert {image for sample in packed for image in sample.images} <= set(images)
    inspect_data.main(inspect_data.Config((str(shards),)))


def test_the_name_that_an_image_had_elsewhere_is_gone(tmp_path: Path) -> None:
    says = json.dumps({**TURNS, "image": "coco/7.jpg", "source": "coco"}).encode()
    [sample] = taken_in(tmp_path, write(tmp_path / "s.tar", {"a.jpg": picture("JPEG"), "a.json": says}))
    assert (sample["images"], sample["source"], "image" in sample) == (["a.0.jpg"], "coco", False)


def test_samples_are_those_that_webdataset_reads(tmp_path: Path) -> None:
    names = [f"d{number % 2}/{number:04d}" for number in range(20)]
    members = {}
    for number, name in enumerate(names):
        members |= {f"{name}.1.png": picture(color=100 + number), f"{name}.0.jpg": picture("JPEG", number)}
        members[f"{name}.txt"] = f"It is {number}.".encode()
    tar = write(tmp_path / "a.tar", members, style=tarfile.GNU_FORMAT)
    theirs = list(webdataset.WebDataset(str(tar), shardshuffle=False, empty_check=False))
    ours = taken_in(tmp_path, tar)
    assert [sample["__key__"].replace("/", "_") for sample in theirs] == [sample["id"] for sample in ours]
    for their, our in zip(theirs, ours, strict=True):
        shown = [(tmp_path / "images" / name).read_bytes() for name in our["images"]]
        assert shown == [their["0.jpg"], their["1.png"]]
        assert our["conversations"][1]["value"] == their["txt"].decode()


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"a.png": picture()}, "neither conversations"),
        ({"a.txt": b"t"}, "neither conversations"),
        ({"a.png": b"GIF89a", "a.txt": b"t"}, "neither PNG, JPEG nor WebP"),
        ({"a.png": picture(), "a.json": b"{"}, "not valid JSON"),
        ({"a.png": picture(), "a.json": b"[1]"}, "no object"),
        ({"a.png": picture(), "a.txt": b"\xff\xfe\xff"}, "not a text"),
        ({"a.png": picture(), "a.PNG": picture(), "a.txt": b"t"}, "two members"),
        ({"..": b"x"}, "no samples"),
    ],
)
def test_what_a_tar_lacks_is_one_line(tmp_path: Path, members: dict[str, bytes], complaint: str) -> None:
    tar = write(tmp_path / "bad.tar", members)
    with pytest.raises(UserError, match=r"bad\.tar") as error:
        taken_in(tmp_path, tar)
    assert complaint in str(error.value)
    assert not (tmp_path / "samples.json").exists() and not list(tmp_path.glob("images/*"))


def test_a_cut_pack_is_one_line(tmp_path: Path) -> None:
    tar = write(tmp_path / "a.tgz", {"a.png": picture(), "a.txt": b"t"}, "w:gz")
    tar.write_bytes(tar.read_bytes()[:-20])
    with pytest.raises(UserError, match="cannot be unpacked"):
        taken_in(tmp_path, tar)


def test_readers_of_our_shards_say_which_command_takes_others(tmp_path: Path) -> None:
    tar = write(tmp_path / "a.tar", GOOD["upper case"])
    for read in (lambda: list(read_shard(tar)), lambda: read_manifest(tmp_path)):
        with pytest.raises(UserError, match=r"toolkits/convert_foreign_tars\.py"):
            read()
