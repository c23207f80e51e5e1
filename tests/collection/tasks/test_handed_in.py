"""A report to hand in: success with intervals by website and family, steps, tokens, settings, the task set's hash."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collection.evaluation.report import make_report, print_report, task_set_digest
from common.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task, move_sites, write_tasks
from data.trajectory import FINISHED, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter

TASKS = [
    Task(f"trac.{family}--{n}", "q?", "http://trac.localhost:7070/", web_name="Trac", domain=family)
    for family in ("open", "edit")
    for n in range(2)
]
SETTINGS = {"policy": "tiny", "max_iter": 20, "applications": {"trac": "abc"}}


def record(folder: Path, task: Task, verdict: Verdict, num_steps: int, **provenance: Any) -> None:
    writer = TrajectoryWriter(folder / folder_name(task.id), task, {**SETTINGS, "seed": num_steps, **provenance}, "")
    for number in range(1, num_steps + 1):
        writer.write_observation(number, "[1] RootWebArea 'x'", None, b"")
        step = TrajectoryStep(number, task.web, "Action: Wait", prompt_tokens=100 * number, completion_tokens=10)
        writer.add_step(step, "[1] RootWebArea 'x'")
    writer.finish(FINISHED, answer="done")
    write_outcome(writer.folder, Outcome(verdict))


def test_a_report_says_what_was_solved_and_what_it_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, verdict in enumerate((Verdict.SUCCESS, Verdict.FAILURE, Verdict.SUCCESS)):
        record(tmp_path, TASKS[number], verdict, num_steps=number + 1)
    record(tmp_path, replace(TASKS[0], id="other--0"), Verdict.SUCCESS, 9, policy="another")  # of no task asked about
    report = json.loads(json.dumps(make_report(tmp_path, TASKS)))
    assert report["settings"] == SETTINGS and report["format"] == "elcano-report-1"
    assert (report["num_success"], report["num_tasks"], report["num_missing"]) == (2, 4, 1)
    assert report["mean_prompt_tokens"] == (100 + 300 + 600) / 3 and report["mean_completion_tokens"] == 20
    assert report["domains"]["open"]["mean_prompt_tokens"] == 200 and report["domains"]["edit"]["num_success"] == 1
    assert report["sites"]["Trac"]["interval"] == report["interval"]
    assert report["outcomes"] == {TASKS[0].id: True, TASKS[1].id: False, TASKS[2].id: True, TASKS[3].id: False}
    print_report(report)
    said = capsys.readouterr().out
    assert "50.0%" in said and "15% to 85%" in said and "333+20" in said and report["task_set"]["sha256"] in said


def test_a_task_set_has_the_hash_of_its_file_wherever_it_was_served(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks.jsonl", TASKS)
    digest = hashlib.sha256((tmp_path / "tasks.jsonl").read_bytes()).hexdigest()
    assert task_set_digest(TASKS) == task_set_digest(move_sites(TASKS, 41234)) == digest != task_set_digest(TASKS[1:])


def test_a_report_is_about_one_setting(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to report"):
        make_report(tmp_path, TASKS)
    record(tmp_path, TASKS[0], Verdict.SUCCESS, 1)
    record(tmp_path, TASKS[1], Verdict.SUCCESS, 1, policy="another", max_iter=30)
    with pytest.raises(UserError, match="differ in max_iter, policy; a report is about one setting"):
        make_report(tmp_path, TASKS)
