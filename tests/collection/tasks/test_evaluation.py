"""Counting: what succeeded, what proves nothing, what is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collection.evaluation.auto_eval import tasks_in
from collection.evaluation.summary import explored, print_explored, print_summary, summarise
from common.errors import UserError
from common.significance import wilson
from data.outcome import Outcome, Verdict
from data.task import Task, write_tasks
from data.trajectory import FINISHED, INVALID, MAX_STEPS, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from tests.conftest import ROOT

TRUTH = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["42"]}}


def record(
    folder: Path, task: Task, answer: str | None, num_steps: int = 2, run: int | None = None, status: str = FINISHED
) -> Path:
    """A complete trajectory; no answer means that a fault ended it."""
    writer = TrajectoryWriter(folder / folder_name(task.id, run), task, {}, "", run)
    for number in range(1, num_steps + 1):
        writer.write_observation(number, "[1] RootWebArea 'x'", None, b"")
        writer.add_step(
            TrajectoryStep(number, task.web, f"Thought: t\n\nAction: ANSWER; {answer}"), "[1] RootWebArea 'x'"
        )
    if answer is None:
        writer.finish(INVALID, reason="browser: gone")
    else:
        writer.finish(status, answer=answer if status == FINISHED else None)
    return writer.folder


def tasks(*sites: str) -> list[Task]:
    return [Task(f"T--{n}", "q", "http://x/", web_name=site, eval=TRUTH) for n, site in enumerate(sites)]


def test_counts_by_site_and_overall(tmp_path: Path) -> None:
    some = tasks("Shop", "Shop", "Shop", "Wiki", "Wiki")
    write_outcome(record(tmp_path, some[0], "42", num_steps=2), Outcome(Verdict.SUCCESS))
    write_outcome(record(tmp_path, some[1], "41", num_steps=4), Outcome(Verdict.FAILURE))
    record(tmp_path, some[2], None, num_steps=9)
    record(tmp_path, some[3], "42", num_steps=3)
    record(tmp_path, Task("other", "q", "http://x/"), "42")
    summary = summarise(tmp_path, some)
    shop, wiki = summary.pop("sites").values()
    assert summary == {
        "success_rate": 1 / 4,
        "interval": wilson(1 / 4, 4),
        "outcomes": {"T--0": True, "T--1": False, "T--3": False, "T--4": False},
        "num_tasks": 5,
        "num_success": 1,
        "num_invalid": 1,
        "num_blocked": 0,
        "num_infeasible": 0,
        "num_missing": 1,
        "num_unjudged": 1,
        "mean_steps": 3.0,
    }
    assert shop["success_rate"] == 1 / 2 and shop["num_invalid"] == 1
    assert wiki["num_missing"] == 1 and wiki["num_unjudged"] == 1


def test_one_try_of_several_is_enough(tmp_path: Path) -> None:
    (only,) = tasks("Shop")
    write_outcome(record(tmp_path, only, "41", run=0), Outcome(Verdict.FAILURE))
    record(tmp_path, only, None, run=1)
    write_outcome(record(tmp_path, only, "42", run=2), Outcome(Verdict.SUCCESS))
    summary = summarise(tmp_path, [only])
    assert (summary["num_success"], summary["num_invalid"], summary["num_tasks"]) == (1, 0, 1)


def test_where_no_task_could_be_tried_there_is_no_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [only] = tasks("Shop")
    record(tmp_path, only, None)
    print_summary(summarise(tmp_path, [only]))
    assert "0.0%" not in capsys.readouterr().out


def test_solved_within_k_tries_and_answered_at_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at_once, at_third, never, broken, untried = tasks(*["Shop"] * 5)
    write_outcome(record(tmp_path, at_once, "42", run=0), Outcome(Verdict.SUCCESS))
    write_outcome(record(tmp_path, at_third, "41", run=0), Outcome(Verdict.FAILURE))
    record(tmp_path, at_third, None, run=1)
    write_outcome(record(tmp_path, at_third, "42", run=2), Outcome(Verdict.SUCCESS))
    write_outcome(record(tmp_path, never, "x", run=0, status=MAX_STEPS), Outcome(Verdict.FAILURE))
    write_outcome(record(tmp_path, never, "41", run=1), Outcome(Verdict.FAILURE))
    record(tmp_path, broken, None, run=0)
    table = explored(tmp_path, [at_once, at_third, never, broken, untried], num_tries=3)
    assert table == {
        "F@1": 2 / 4,
        "S@1": 1 / 4,
        "S@2": 1 / 4,
        "S@3": 2 / 4,
        "num_tasks": 4,
        "num_invalid": 1,
        "num_blocked": 0,
        "num_infeasible": 0,
        "num_successful": 2,
    }
    print_explored(table)
    assert "25.0%" in capsys.readouterr().out


def test_auto_eval_judges_what_is_not_judged_and_writes_the_summary(tmp_path: Path) -> None:
    some = tasks("Shop", "Wiki")
    record(tmp_path, some[0], "it is 42")
    write_outcome(record(tmp_path, some[1], "41"), Outcome(Verdict.SUCCESS, judge="someone else"))
    file = tmp_path / "tasks.jsonl"
    write_tasks(file, some)
    command = [sys.executable, "collection/evaluation/auto_eval.py", "--process_dir", tmp_path, "--test_file", file]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Shop" in done.stdout and "100.0%" in done.stdout
    assert json.loads((tmp_path / "summary.json").read_text())["num_success"] == 2


@pytest.mark.parametrize("missing", ["process_dir", "test_file"])
def test_auto_eval_names_what_is_missing(tmp_path: Path, missing: str) -> None:
    write_tasks(tmp_path / "tasks.jsonl", tasks("Shop"))
    paths = {"process_dir": tmp_path, "test_file": tmp_path / "tasks.jsonl", missing: tmp_path / "nowhere"}
    command = [sys.executable, "collection/evaluation/auto_eval.py"]
    command += [str(word) for name, path in paths.items() for word in (f"--{name}", path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "nowhere" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("end", "named"),
    [
        ('{"status": "finished"}', "not the end of a trajectory"),
        ('{"task": {"id": "a", "ques": "q"}, "status": "", "reason": "", "num_steps": 1}', "web"),
        (
            r'{"task": {"id": "a", "ques": "q", "web": "w", "web_name": "\u001b]0;"}, '
            '"status": "", "reason": "", "num_steps": 1}',
            "web_name .* holds control characters",
        ),
    ],
)
def test_trajectories_of_others_that_are_none_are_named(tmp_path: Path, end: str, named: str) -> None:
    (tmp_path / "taska").mkdir()
    (tmp_path / "taska" / "trajectory.json").write_text(end)
    with pytest.raises(UserError, match=rf"taska.*trajectory\.json: .*{named}"):
        tasks_in(tmp_path)
