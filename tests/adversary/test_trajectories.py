"""Trajectory folders from elsewhere: data sets are downloaded, unpacked and converted."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.task import Task
from data.trajectory import TrajectoryStep, list_trajectories, read_outcome, read_trajectory
from data.trajectory_writer import TrajectoryWriter
from tests.adversary.refusals import refusal
from tests.toolkits.trajectories import screenshot
from toolkits import convert_trajectories_to_json

SECRET = "nobody may read this"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good trajectory of one step."""
    path = tmp_path / "results" / "taska"
    writer = TrajectoryWriter(path, Task("a", "q", "http://a.com/"), {}, "system")
    writer.write_observation(1, "[1] link 'x'", None, screenshot(1))
    writer.add_step(TrajectoryStep(1, "http://a.com/", "Thought: x.\n\nAction: ANSWER; x"), "[1] link 'x'")
    writer.finish("finished", "x")
    return path


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields) + "\n")


STEPS: dict[str, Any] = {
    "number": [0, 2, True, None, "1", 1.0, "../../1"],
    "url": [5, None],
    "reply": [5, None, ["x"], "\ud800"],
    "feedback": [[1], None],
    "notes": [{}],
    "prompt_tokens": ["x", 1.5],
    "weights_version": [5],
    "token_ids": [["a"], [None], "abc", [1.5]],
    "logprobs": [[float("nan")], [float("-inf")], "abc", [True]],
    "timings_s": ["x", {"a": "b"}, {"a": float("inf")}],
    "unknown": [1],
}
SUMMARIES: dict[str, Any] = {
    "task": [None, "x", {}, {"id": "../../x", "ques": "q", "web": "w"}, {"id": "a", "ques": 5, "web": "w"}],
    "status": [5, [1], None],
    "answer": [{"a": 1}, 5],
    "reason": [5],
    "run": [True, "1", 1.5],
    "num_steps": [2, "1"],
    "provenance": [5, [1], None],
}
RAW = [b"", b"[]", b"{}", b"null", b"5", b"[" * 100_000, b'{"number": ' + b"9" * 5000 + b"}", b"\xff\xfe", b"[1]\n"]


def test_the_folder_reads_when_nothing_is_wrong(folder: Path) -> None:
    assert refusal(lambda: read_trajectory(folder)) == ""


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_another_form_is_refused(folder: Path, name: str) -> None:
    good = (folder / "steps.jsonl").read_text()
    for value in STEPS[name]:
        (folder / "steps.jsonl").write_text(good)
        change(folder / "steps.jsonl", **{name: value})
        assert str(folder) in refusal(lambda: read_trajectory(folder)), value


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_of_another_form_is_refused(folder: Path, name: str) -> None:
    good = (folder / "trajectory.json").read_text()
    for value in SUMMARIES[name]:
        (folder / "trajectory.json").write_text(good)
        change(folder / "trajectory.json", **{name: value})
        assert str(folder) in refusal(lambda: read_trajectory(folder)), value


@pytest.mark.parametrize("name", ["steps.jsonl", "trajectory.json", "outcome.json", "accessibility_tree1.txt"])
@pytest.mark.parametrize("content", RAW)
def test_files_that_hold_something_else_are_refused(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    line = refusal(lambda: read_trajectory(folder))
    is_any_text = name == "accessibility_tree1.txt" and content != b"\xff\xfe"
    assert line == "" if is_any_text else str(folder) in line


@pytest.mark.parametrize("content", RAW)
def test_released_folders_that_hold_something_else_are_refused(folder: Path, content: bytes) -> None:
    (folder / "outcome.json").write_bytes(content)
    assert "outcome.json" in refusal(lambda: read_outcome(folder))
    (folder / "outcome.json").unlink()
    for name in ("trajectory.json", "steps.jsonl"):
        (folder / name).unlink()
    assert refusal(lambda: read_trajectory(folder)) == ""  # as OpenWebVoyager leaves it
    (folder / "eval_res.json").write_bytes(content)
    assert str(folder) in refusal(lambda: read_trajectory(folder))
    (folder / "eval_res.json").unlink()
    (folder / "interact_messages.json").write_bytes(content)
    assert str(folder) in refusal(lambda: read_trajectory(folder))


def test_an_opening_that_never_ends_is_read_in_no_time(folder: Path) -> None:
    """A pattern with a gap in its middle takes the square of the text's length."""
    for name in ("trajectory.json", "steps.jsonl"):
        (folder / name).unlink()
    turns = [{"role": role, "content": "Now given a task:" * 50_000} for role in ("system", "user", "assistant")]
    (folder / "interact_messages.json").write_text(json.dumps(turns))
    assert "does not open with" in refusal(lambda: read_trajectory(folder))


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "a link to a file": lambda path, secret: path.symlink_to(secret),
    "a link to nothing": lambda path, _: path.symlink_to("/nowhere"),
    "a link to an endless file": lambda path, _: path.symlink_to("/dev/zero"),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
}


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("name", ["accessibility_tree1.txt", "steps.jsonl", "trajectory.json", "screenshot1.png"])
def test_what_is_no_plain_file_is_not_followed(folder: Path, kind: str, name: str) -> None:
    """Converted, a link would publish a file of this machine; read, a pipe would never end."""
    secret = folder.parent.parent / "secret"
    secret.write_text(SECRET)
    (folder / name).unlink()
    LINKS[kind](folder / name, secret)
    if kind == "a link to a file":
        assert (folder / name).read_text() == SECRET  # whoever follows it
    assert str(folder) in refusal(lambda: read_trajectory(folder))


def test_a_hostile_folder_stops_no_conversion_and_publishes_nothing(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    linked = folder.with_name("taskb")
    shutil.copytree(folder, linked)
    (linked / "accessibility_tree1.txt").unlink()
    (linked / "accessibility_tree1.txt").symlink_to(secret)
    assert len(list_trajectories(folder.parent)) == 2
    out = tmp_path / "samples.json"
    config = convert_trajectories_to_json.Config(str(folder.parent), str(tmp_path / "images"), str(out), num_workers=1)
    convert_trajectories_to_json.main(config)
    assert len(json.loads(out.read_text())) == 1 and SECRET not in out.read_text()
