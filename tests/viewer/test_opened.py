"""What was opened and changes: folders that go, come, and that two viewers look at."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.conftest import Opened
from viewer.answers import Answers
from viewer.catalog.index import Index
from viewer.catalog.opened import discover
from viewer.catalog.reading import read


def state(answers: Answers) -> dict[str, Any]:
    return json.loads(answers.answer("state", {}))


def names(answers: Answers, run: str) -> list[str]:
    return json.loads(answers.answer("rows", {"run": run}))["columns"]["name"]


def test_a_folder_whose_name_begins_with_task_hides_no_run(tmp_path: Path, opened: Opened) -> None:
    write_trajectory(tmp_path / "runs" / "a" / "test", "Shop--1")
    write_trajectory(tmp_path / "runs", "Shop--2")
    (tmp_path / "runs" / "a" / "tasks").mkdir()
    assert state(opened(tmp_path / "runs"))["runs"] == [
        {"key": "runs", "sets": ["runs/.", "runs/a/test"], "written": "0-0"}
    ]
    log = tmp_path / "runs" / "IL" / "training" / "log" / "IL"
    log.mkdir(parents=True)
    (log / "metrics.jsonl").write_text("{}")
    assert state(opened(tmp_path / "runs"))["runs"][0]["written"].startswith("1-")


def test_no_link_is_followed_on_any_level(tmp_path: Path, opened: Opened) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "log" / "IL").mkdir(parents=True)
    (elsewhere / "log" / "IL" / "metrics.jsonl").write_text('{"iteration": 1, "loss": 4}\n')
    (elsewhere / "train.progress.json").write_text('{"done": 1, "total": 5}')
    write_trajectory(tmp_path / "run" / "IL" / "test", "Shop--1")
    for name in ("training", "logs"):
        (tmp_path / "run" / "IL" / name).symlink_to(elsewhere)
    answers = opened(tmp_path / "run")
    assert json.loads(answers.answer("curves", {"run": "run"})) == []
    assert json.loads(answers.answer("run", {"run": "run"}))["at_work"] == []
    assert state(answers)["runs"][0]["written"] == "0-0"


def test_folders_that_cannot_be_opened_are_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / os.fsdecode(b"r\xff")
    write_trajectory(odd, "Shop--1")
    with pytest.raises(UserError, match="no UTF-8"):
        Index([odd], tmp_path / "index.sqlite")

    def refuse(*given: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as locked:
        locked.setattr(os, "open", refuse)
        with pytest.raises(UserError, match="the folder cannot be read"):
            read(odd / "taskShop--1", "steps.jsonl")
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **how: refuse() if path.name == "recipe.json" else stat(path, **how))
    write_trajectory(tmp_path / "runs" / "a")
    assert [run.key for run in discover([tmp_path / "runs"])] == ["runs"]


def test_what_was_opened_with_a_folder_that_is_gone_is_kept_up_with(tmp_path: Path, opened: Opened) -> None:
    for name in ("a", "b"):
        write_trajectory(tmp_path / name, "Shop--1")
    answers = opened(tmp_path / "a", tmp_path / "b")
    before = state(answers)
    shutil.rmtree(tmp_path / "a")
    write_trajectory(tmp_path / "b", "Shop--2")
    answers.index.refresh()
    after = state(answers)
    assert ([run["key"] for run in after["runs"]], after["gone"]) == (["b"], ["a"])
    assert names(answers, "b") == ["taskShop--1", "taskShop--2"] and after["generation"] > before["generation"]


def test_two_viewers_of_one_folder_both_keep_up(tmp_path: Path, opened: Opened) -> None:
    write_trajectory(tmp_path / "r", "Shop--1")
    first, second = opened(tmp_path / "r"), opened(tmp_path / "r")
    before = state(first)
    assert names(first, "r") == names(second, "r") == ["taskShop--1"]
    write_trajectory(tmp_path / "r", "Shop--2")
    second.index.refresh()
    first.index.refresh()
    assert names(first, "r") == ["taskShop--1", "taskShop--2"] and state(first)["generation"] > before["generation"]
