"""Tars of others become shards once, by what they hold; what is wrong with them is one line, and leaves nothing."""

import os
import shutil
from pathlib import Path

import pytest

from common.errors import UserError
from data.shards.foreign_tars import is_foreign, shards_of
from data.shards.legacy import LegacyWriter
from data.shards.shard import Sample, read_manifest
from tests.toolkits.interchange import shards, take_in
from tests.toolkits.readers.test_tars_of_others import energon
from tests.toolkits.readers.test_webdataset_tars import SAYS, TURNS, picture, write
from toolkits import inspect_data
from toolkits.convert_foreign_tars import Config, convert, main


@pytest.fixture
def tars(tmp_path: Path) -> Path:
    (tmp_path / "tars").mkdir()
    write(tmp_path / "tars" / "one.tar", {"a.png": picture(), "a.json": SAYS, "a.cls": b"1"})
    write(tmp_path / "tars" / "two.tgz", {"a.0.jpg": picture("JPEG", 9), "a.json": SAYS, "b.json": SAYS}, "w:gz")
    return tmp_path / "tars"


def test_the_shards_are_those_of_import_and_pack(tars: Path, tmp_path: Path) -> None:
    made = convert(tars)
    take_in("webdataset", tmp_path / "images", tmp_path / "samples.json", tars)
    by_hand = shards(tmp_path / "samples.json", tmp_path / "images", tmp_path / "by_hand")
    assert {tar.name: tar.read_bytes() for tar in made.glob("*.tar")} == by_hand
    assert (made / ".nv-meta" / "dataset.yaml").is_file()


def test_a_line_says_what_was_found_and_the_same_tars_are_not_read_again(
    tars: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = convert(tars)
    told = capsys.readouterr()
    found = "3 samples with 2 images in 2 webdataset tars; left out: members that end in cls (1)"
    assert told.out == f"{tars}: {found}; read as {made}\n" and not told.err
    assert made.parent == tars / ".elcano" and sorted(p.name for p in made.parent.glob("[!.]*")) == [made.name]
    made_at = (made / "manifest.json").stat().st_mtime_ns
    assert convert(tars) == made and (made / "manifest.json").stat().st_mtime_ns == made_at
    assert capsys.readouterr().out == told.out
    os.utime(tars / "one.tar", ns=(1, 1))
    again = convert(tars)
    assert again != made and read_manifest(again)["num_samples"] == 3  # what was made before is no data


def test_a_folder_of_others_own_is_left_alone(tars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be written, and one whose `.elcano` leads elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "elsewhere").mkdir()
    (tars / ".elcano").symlink_to(tmp_path / "elsewhere")
    made = convert(tars)
    assert made.is_relative_to(tmp_path / "cache" / "elcano") and not any((tmp_path / "elsewhere").iterdir())
    (tars / ".elcano").unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    assert convert(tars) == made
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/self/no")
    with pytest.raises(UserError, match=f"^{tars}: .* neither in it nor in /proc/self/no/.*; give .* XDG_CACHE_HOME$"):
        convert(tars)


def test_energon_and_inspection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inspect_data.main(inspect_data.Config((str(energon(tmp_path / "set")),)))
    told = capsys.readouterr().out
    assert "2 samples with 2 images in 3 energon tars; left out: tars of other splits than train (1)" in told


def test_openwebvoyagers_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = LegacyWriter(tmp_path / "openwebvoyager-000000.tar")
    writer.add(
        Sample("Shop--1", [{**TURNS["conversations"][0], "value": "<image>"}, TURNS["conversations"][1]], [picture()])
    )
    writer.close()
    convert(tmp_path)
    assert "1 samples with 1 images in 1 OpenWebVoyager tars; read as" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"one": {"a.cls": b"1"}}, "tars: no samples"),
        ({"one": {"a.json": SAYS, "A.json": SAYS}, "two": {"a.json": b'{"id": "one--a"' + b", " + SAYS[1:]}}, "twice"),
        ({"one": {"a.png": b"\x89PNG\r\n\x1a\n", "a.json": b"{"}}, "one.tar: sample 'a': its json member is not valid"),
    ],
)
def test_what_is_wrong_is_told_and_leaves_nothing(
    tmp_path: Path, members: dict[str, dict[str, bytes]], said: str
) -> None:
    (tmp_path / "tars").mkdir()
    for name, content in members.items():
        write(tmp_path / "tars" / f"{name}.tar", content)
    with pytest.raises(UserError, match=said):
        main(Config(str(tmp_path / "tars")))
    assert not list((tmp_path / "tars" / ".elcano").glob("[!.]*"))
    assert not list((tmp_path / "tars" / ".elcano").glob(".*.samples"))


def test_a_damaged_tar(tars: Path) -> None:
    (tars / "one.tar").write_bytes((tars / "one.tar").read_bytes()[:1500])
    with pytest.raises(UserError, match=r"one\.tar: .*cut off"):
        convert(tars)


def test_shards_without_their_index_are_not_foreign(tars: Path) -> None:
    """Read as plain tars they would train on what they hold out."""
    made = convert(tars)
    shutil.rmtree(made / ".nv-meta")
    assert not is_foreign(made)
    (tars / "manifest.json").write_text('{"version": 1}')  # of somebody else
    assert is_foreign(tars)


def test_ours_are_not_foreign(tars: Path) -> None:
    assert is_foreign(tars) and not is_foreign(shards_of(tars)) and not is_foreign(convert(tars))
    assert not is_foreign(convert(tars).parent) and not is_foreign(tars / "nowhere")
    with pytest.raises(UserError, match="no folder of webdataset tars that others made"):
        main(Config(str(convert(tars))))
