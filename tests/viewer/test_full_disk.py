"""Labels on a full disk: refused in words, and the label that was there stays."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from tests.small_disk import fill, small_disk
from tests.toolkits.trajectories import write_trajectory
from viewer.catalog.opened import TrajectorySet
from viewer.labels import write_label


def test_a_label_that_has_no_room_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 400) as disk:
        name = write_trajectory(disk / "results", "A--1").name
        one = TrajectorySet("key", "run", "results", disk / "results")
        write_label(one, name, json.dumps({"verdict": "success", "note": "first"}).encode())
        before = {path: path.read_bytes() for path in disk.rglob("*.json")}
        fill(disk, 0)
        with pytest.raises(UserError, match="the label cannot be kept: No space left on device"):
            write_label(one, name, json.dumps({"verdict": "failure", "note": "second"}).encode())
        assert {path: path.read_bytes() for path in disk.rglob("*.json")} == before
