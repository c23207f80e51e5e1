"""Names from files of others: every reader refuses those that would lead out of a folder."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.names import check_name
from data.shards.shard import Sample
from data.task import Task
from data.trajectory import read_trajectory
from data.trajectory_writer import TrajectoryWriter
from toolkits.shards.sample_records import check_record

HOSTILE = ["../../x", "a/b", "..", ".hidden", "a\\b", "a\0b", "a\nb", "", "x" * 201, "\ud800", 7, None]
PLAIN = ["Amazon--3", "WebVoyager-Amazon-human-extend--4", "miniwob.click-test--0", "a b (c) ü", "x" * 200]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_id_is_refused_wherever_it_is_read(tmp_path: Path, name: object) -> None:
    with pytest.raises(UserError):
        check_name("the id", name)
    with pytest.raises(UserError):
        Task(name, "q", "http://a.com/")
    with pytest.raises(UserError):
        Sample(name, [], [])
    with pytest.raises(UserError):
        check_record("file", {"id": name, "images": [], "conversations": []})
    folder = trajectory(tmp_path)
    summary = json.loads((folder / "trajectory.json").read_text())
    summary["task"]["id"] = name
    (folder / "trajectory.json").write_text(json.dumps(summary))
    with pytest.raises(UserError):
        read_trajectory(folder)


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_ids_are_taken(name: str) -> None:
    assert Task(name, "q", "http://a.com/").id == Sample(name, [], []).id == name


def trajectory(folder: Path) -> Path:
    """An empty one."""
    writer = TrajectoryWriter(folder / "taskT--1", Task("T--1", "q", "http://a.com/"), {}, "")
    writer.finish("max_steps")
    return writer.folder
