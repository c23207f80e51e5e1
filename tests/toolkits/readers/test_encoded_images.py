"""Images that stand in a record, in whichever of the spellings that files of the field have."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from tests.toolkits.interchange import take_in
from tests.toolkits.readers.test_webdataset_tars import picture, write

IMAGE = picture()
PLAIN = base64.b64encode(IMAGE).decode()
LINES = base64.encodebytes(IMAGE).decode()


def read(folder: Path, records: list[dict[str, Any]], kind: str = "messages") -> list[bytes]:
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    samples = take_in(kind, folder / "images", folder / "out.json", folder / "a.jsonl")
    return [(folder / "images" / name).read_bytes() for sample in samples for name in sample["images"]]


@pytest.mark.parametrize(
    "image",
    [
        f"data:image/png;base64,{LINES}",
        f"DATA:image/png;charset=utf-8;BASE64,{PLAIN}",
        f"data:image/png;base64,{PLAIN.rstrip('=')}",
        f"data:image/png;base64,{PLAIN.replace('+', '%2B').replace('/', '%2F')}",
        PLAIN,
        LINES,
        {"bytes": PLAIN, "path": None},
        {"url": f"data:image/png;base64,{PLAIN}"},
    ],
)
def test_base64_as_people_write_it(tmp_path: Path, image: Any) -> None:
    ask = {"query": "What?", "response": "A shop."}
    inside = {"messages": [{"role": "user", "content": "?", "images": [image]}, {"role": "assistant", "content": "!"}]}
    (tmp_path / "images").mkdir()
    assert read(tmp_path, [{**ask, "images": [image]}, {**ask, "image": image}, inside]) == [IMAGE] * 3


def test_a_screenshot_in_base64_is_an_image_and_a_path_that_looks_like_one_is_a_path(tmp_path: Path) -> None:
    ask = {"query": "What?", "response": "A shop."}
    deep = "9j/" + "a" * 80
    (tmp_path / "images" / "9j").mkdir(parents=True)
    (tmp_path / "images" / deep).write_bytes(IMAGE)
    assert read(tmp_path, [{**ask, "screenshot": PLAIN}, {**ask, "image": deep}]) == [IMAGE] * 2


@pytest.mark.parametrize("image", [{"bytes": None, "path": None}, {"bytes": "", "path": ""}, {}])
def test_an_image_that_is_empty_is_called_so(tmp_path: Path, image: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"a\.jsonl:1: one of its images is empty"):
        read(tmp_path, [{"query": "q", "response": "r", "images": [image]}])


def part(image: str) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": image}}]
    return {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "r"}]}


def test_a_json_in_a_tar_may_hold_or_name_its_images(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    ask = {"query": "What?", "response": "A shop."}
    records: dict[str, dict[str, Any]] = {
        "held": {**ask, "image": PLAIN},
        "part": part(f"data:image/png;base64,{LINES}"),
        "named": part("shots/named.png"),
        "address": {**ask, "image": "http://shop.example/a.png"},
        "missing": {**ask, "image": "elsewhere.png"},
        "nameless": {**ask, "id": None, "image": PLAIN},
    }
    members = {f"{key}.json": json.dumps(record).encode() for key, record in records.items()}
    tar = write(tmp_path / "a.tar", {**members, "named.png": IMAGE})
    samples = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert [sample["id"] for sample in samples] == ["held", "part", "named", "nameless"]
    assert all((tmp_path / "images" / sample["images"][0]).read_bytes() == IMAGE for sample in samples)
    told = capsys.readouterr().err
    assert "samples of which an image is not there (1), samples with images at an address (1)\n" in told
    assert "sample 'missing': its image elsewhere.png is no member of it" in told
    assert "that no part shows" not in told


def test_a_tar_of_which_no_image_is_there_is_refused(tmp_path: Path) -> None:
    tar = write(tmp_path / "a.tar", {"a.json": json.dumps({"query": "q", "response": "r", "image": "b.png"}).encode()})
    with pytest.raises(UserError, match=r"sample .a.: its image b\.png is no member of it"):
        take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert not (tmp_path / "out.json").exists() and not (tmp_path / "images").exists()
