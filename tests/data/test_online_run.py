"""The folder of an online run, as its three programs read it."""

from pathlib import Path

import pytest

from common.errors import UserError
from data.online_run import Group, OnlineRun, read_fates, read_group, write_group


def test_a_group_is_there_once_it_is_complete(tmp_path: Path) -> None:
    run = OnlineRun(tmp_path)
    run.group(12).mkdir(parents=True)
    run.group(3).mkdir()
    (run.trajectories / ".lock").touch()
    assert list(run.groups()) == [3, 12] and read_group(run.group(3)) is None
    group = Group(3, "Shop-price--1", [0, 1], [1.0, None], [4, 5])
    write_group(run.group(3), group)
    assert read_group(run.group(3)) == group
    assert group.folder_names() == ["taskShop-price--1--run0", "taskShop-price--1--run1"]
    (run.group(3) / "group.json").write_text('{"group": 3}')
    with pytest.raises(UserError, match=r"group\.json: not a complete group"):
        read_group(run.group(3))


def test_the_newest_version_is_the_last_that_was_published(tmp_path: Path) -> None:
    run = OnlineRun(tmp_path / "run")
    with pytest.raises(UserError, match="holds no weights"):
        run.newest_version()
    (tmp_path / "warm_start").mkdir()
    run.weights.mkdir(parents=True)
    run.version(0).symlink_to(tmp_path / "warm_start")
    run.version(7).mkdir()
    (run.weights / ".000008.tmp").mkdir()
    assert run.newest_version() == 7
    assert [run.version_of(said) for said in ("000007@ab", "warm_start@cd", "000003@gone", "other@ef", "")] == [
        *(7, 0, 3),
        *(None, None),
    ]


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "learned.jsonl"
    assert read_fates(path) == {}
    path.write_text('{"group": 1, "version": 0, "fate": "no spread"}\n{"group": 2, "vers')
    assert read_fates(path) == {1: "no spread"}
    path.write_text('{"group": 1, "version": 0, "fate": "no spread"}\n[]\n')
    with pytest.raises(UserError, match=r"learned\.jsonl:2"):
        read_fates(path)
