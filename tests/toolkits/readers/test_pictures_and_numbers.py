"""Pictures that do not decode and numbers that are none, wherever they come from or go: refused, and named."""

import json
import math
from pathlib import Path

import pytest

from common.errors import UserError
from data.actions.point_action import ClickAt
from data.actions.screen import Point, Screen
from data.image_check import check_encoded
from data.shards.shard import Sample, ShardWriter
from data.trajectory import list_trajectories
from tests.toolkits.foreign_folders import FOREIGN, FORMATS
from tests.toolkits.readers.test_webdataset_tars import picture
from tests.toolkits.research import RESEARCH
from tests.toolkits.trajectories import write_trajectory
from toolkits import import_data
from toolkits.export_data import Config, main
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.research.episode_folders import canonical_records
from toolkits.readers.research.episodes import EpisodeStep

WITHIN = ("multimodal_mind2web", "uground", "playwright_trace", "visualwebarena", "browser_use", "openai_cua")
"""Whose pictures lie within their files."""
BESIDE = sorted({*RESEARCH, *FOREIGN} - {*WITHIN, "webvoyager", "webrl", "mind2web"})
OUT = ("atif", "adp", "webvoyager", "online_mind2web", "agentlab")


def damage(folder: Path) -> int:
    """A bit of every picture of a folder, in its pixels; how many there are."""
    found = [*folder.rglob("*.png"), *folder.rglob("*.jpg")]
    for path in found:
        content = bytearray(path.read_bytes())
        content[len(content) - 14] ^= 1  # of a PNG, the checksum of its pixels
        path.write_bytes(content if content.startswith(b"\x89") else content[: len(content) // 2])
        with pytest.raises(UserError):
            check_encoded(path.read_bytes())
    return len(found)


@pytest.mark.parametrize("name", BESIDE)
def test_no_reader_takes_a_damaged_picture(name: str, tmp_path: Path) -> None:
    given = tmp_path / "set"
    given.mkdir()
    files = tuple(str(given / file) for file in (RESEARCH | FOREIGN)[name](given))
    assert damage(given)
    config = import_data.Config(FORMATS.get(name, name), files, str(given), result_dir=str(tmp_path / "results"))
    with pytest.raises(UserError):
        import_data.main(config)
    assert not (tmp_path / "results").exists()


def test_a_grounding_set_without_folders_takes_none(tmp_path: Path) -> None:
    [file] = RESEARCH["os_atlas"](tmp_path)
    damage(tmp_path)
    with pytest.raises(UserError, match=r"1\.png: .*damaged"):
        import_data.main(import_data.Config("os_atlas", (str(tmp_path / file),), str(tmp_path), str(tmp_path / "a")))


@pytest.mark.parametrize("where", ["boxes", "actions"])
def test_no_folder_gets_a_number_that_is_none(tmp_path: Path, where: str) -> None:
    screen = Screen((8, 6), (8, 6))
    done = canonical_records("s", EpisodeStep(picture(), screen, (ClickAt(Point(1, math.nan)),)))
    fields = {"boxes": {2: [0, 0, math.inf, 1]}} if where == "boxes" else {"actions": done}
    task, run = Tries().add("s", "Buy.", "a")
    read = ForeignTrajectory(task, run, "s", [ForeignStep("", "Click.", picture(), **fields)])
    with pytest.raises(UserError, match="file, step 1: holds NaN or an infinite number"):
        write_folder("file", tmp_path, read)


@pytest.mark.parametrize("kind", OUT)
def test_no_export_takes_a_damaged_picture_or_number(kind: str, tmp_path: Path) -> None:
    write_trajectory(tmp_path / "ours", "Shop--3", num_steps=2)
    [folder] = list_trajectories(tmp_path / "ours")
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    lines[1]["actions"] = [{"kind": "ClickAt", "css": [[math.nan, 1]]}]
    steps = (folder / "steps.jsonl").read_text()
    (folder / "steps.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(UserError, match="step 2: holds NaN"):
        main(Config(kind, str(tmp_path / "out"), result_dir=str(tmp_path / "ours")))
    (folder / "steps.jsonl").write_text(steps)
    damage(folder)
    with pytest.raises(UserError, match=r"step 1: .*screenshot1\.png: .*damaged"):
        main(Config(kind, str(tmp_path / "out"), result_dir=str(tmp_path / "ours")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("share_images", [False, True])
def test_no_tar_takes_a_cut_picture(tmp_path: Path, kind: str, share_images: bool) -> None:
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A shop."}]
    path = tmp_path / "a.png"
    path.write_bytes(picture(kind)[:-9])
    for image, named in ((path, f"sample s: {path}: "), (path.read_bytes(), "sample s: ")):
        with pytest.raises(UserError, match=named):
            ShardWriter(tmp_path / "a.tar", share_images).add(Sample("s", turns, [image]))
