"""Shards from elsewhere: tars that lead round in a circle, images that are more than they seem."""

import io
import json
import struct
import tarfile
import zlib
from pathlib import Path

import pytest
from PIL import Image

from data.image_check import check_image
from data.shards.shard import read_shard
from data.shards.tar import scan
from tests.adversary.refusals import limits, refusal
from tests.toolkits.trajectories import screenshot
from training.samples.pictures import read_picture

GOOD = {"id": "a", "conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}], "num_images": 0}
SHOWS_ONE = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "y"}]
END = bytes(1024)


def header(size: bytes = b"%011o\0" % 512, name: bytes = b"a.json", kind: bytes = b"0") -> bytes:
    """A member's header with a correct checksum, whatever it says."""
    content = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    content[:100], content[124:136], content[156:157] = name.ljust(100, b"\0"), size, kind
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content)
    return bytes(content)


TARS = {
    "a size below nothing": header(b"-0000001000\0") + bytes(4096) + END,
    "a size further below": header(b"-0000002000\0") + bytes(4096) + END,
    "a size with underscores": header(b"0000000_010\0") + bytes(512) + END,
    "a size of base 256": header(b"\x80" + bytes(10) + b"\x05") + bytes(512) + END,
    "a record of 5,000 digits": header(b"%011o\0" % 5120, b"x", b"x") + b"1" * 5120 + header() + bytes(512) + END,
    "a record of no length": header(b"%011o\0" % 8, b"x", b"x") + b"0 path=a".ljust(512, b"\0") + header() + END,
    "a hard link": header(kind=b"1") + bytes(512) + END,
    "a link": header(kind=b"2") + bytes(512) + END,
    "a character device": header(kind=b"3") + bytes(512) + END,
    "a block device": header(kind=b"4") + bytes(512) + END,
    "a pipe": header(kind=b"6") + bytes(512) + END,
    "a sparse file": header(kind=b"S") + bytes(512) + END,
    "a name that leads out": header(name=b"../../a.json") + bytes(512) + END,
    "a name from the root": header(name=b"/tmp/a.json") + bytes(512) + END,
    "no end": header(b"%011o\0" % 0),
    "an image without its sample": header(name=b"a.0.png") + bytes(512) + END,
    "a script": header(name=b"a.py") + bytes(512) + END,
}


@pytest.mark.parametrize("kind", TARS)
def test_a_hostile_tar_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "shard.tar"
    path.write_bytes(TARS[kind])
    assert str(path) in refusal(lambda: list(read_shard(path)))


def test_others_follow_what_we_refuse(tmp_path: Path) -> None:
    """The control: unpacked with full trust, a member lands outside of its folder."""
    path, folder = tmp_path / "shard.tar", tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    path.write_bytes(header(name=b"../../a.json") + bytes(512) + END)
    with tarfile.open(path) as tar:
        tar.extractall(folder, filter="fully_trusted")
    assert (tmp_path / "a.json").exists()


def test_a_name_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A file with a hole takes no room on the disk, and 8 GB in memory."""
    path = tmp_path / "shard.tar"
    with open(path, "wb") as file:
        file.write(header(b"77777777777\0", b"x", b"x"))
        file.truncate(2**33 + 2048)
    assert "which no name takes" in refusal(lambda: scan(path))


def shard(path: Path, fields: bytes) -> Path:
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("a.json")
        info.size = len(fields)
        tar.addfile(info, io.BytesIO(fields))
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"num_images": 1, "conversations": SHOWS_ONE},
        {"num_images": 1, "conversations": SHOWS_ONE, "images": ["b.0.png"]},
        {"images": 5},
        {"images": None},
        {"images": "a.0.png"},
        {"images": ["../x"]},
        {"images": ["a.json"]},
        {"images": [["a"]]},
        {"conversations": {"a": 1}},
        {"conversations": "abc"},
        {"conversations": [{"from": [1], "value": "x"}]},
        {"conversations": [{"from": "human", "value": "<image>" * 100}]},
        {"id": "../../x"},
        {"id": 5},
    ],
)
def test_a_hostile_sample_is_refused(tmp_path: Path, change: dict) -> None:
    assert refusal(lambda: list(read_shard(shard(tmp_path / "good.tar", json.dumps(GOOD).encode())))) == ""
    path = shard(tmp_path / "bad.tar", json.dumps(GOOD | change).encode())
    assert str(path) in refusal(lambda: list(read_shard(path)))


@pytest.mark.parametrize("fields", [b"[" * 100_000, b"{", b"5", b'{"id": ' + b"9" * 5000 + b"}", b"\xff"])
def test_a_sample_that_is_no_json_is_refused(tmp_path: Path, fields: bytes) -> None:
    path = shard(tmp_path / "bad.tar", fields)
    assert str(path) in refusal(lambda: list(read_shard(path)))


def png_of(width: int, height: int, pixels: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


BOMB = png_of(10_000, 10_000, zlib.compress(bytes(10_001 * 10_000), 9))  # 100 kB; 300 MB in RGB
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n(/tmp/x) (w) file\n%%EOF\n"
GIF = b"GIF89a" + bytes(100)


IMAGES = {
    "a bomb": BOMB,
    "a program": EPS,
    "another format": GIF,
    "nothing": b"",
    "a cut picture": screenshot(1)[:60],
    "a size beyond all": png_of(2**31 - 1, 2**31 - 1, b""),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_images_that_are_too_large_or_no_pictures_are_refused(tmp_path: Path, kind: str) -> None:
    image = IMAGES[kind]
    path = tmp_path / "a.png"
    path.write_bytes(image)
    for read in (lambda: read_picture("a", image).decode("a"), lambda: check_image(path)):
        assert "image" in (line := refusal(read)) or "PNG" in line


def test_pillow_opens_what_we_refuse() -> None:
    """The control: it takes Ghostscript's language for a picture, and decodes 100 million pixels out of 100 kB."""
    assert Image.open(io.BytesIO(EPS)).format == "EPS"
    assert len(BOMB) < 200_000
    with limits():
        assert Image.open(io.BytesIO(BOMB)).size == (10_000, 10_000)
