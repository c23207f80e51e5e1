"""correct.py: a teacher's words on the pages that an agent failed on, and the samples that come of them."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collection.agent.policy import Completion, PolicyError, UnansweredError
from collection.config.commands import CorrectionConfig
from collection.correct import main as correct_trajectories
from common.errors import UserError
from data.correction import FILE_NAME, Corrections, read_corrections, write_corrections
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import MAX_STEPS, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from elcano.recipe import Recipe, Round
from tests.toolkits.trajectories import screenshot
from toolkits.convert_trajectories_to_json import Config, main
from training.options import TrainingOptions

ROOT = Path(__file__).resolve().parents[2]
TASK = Task(id="Shop-price--0", ques='find the price of "Velod Wren".', web="http://shop.localhost:7070/")
HOME = "[1] RootWebArea 'Welcome - Cargo'\n\t[2] link 'Cargo'\n\t[3] searchbox 'Search products'\n\t[4] button 'Search'"
CART = "[1] RootWebArea 'Your cart - Cargo'\n\t[2] link 'Cargo'"
RIGHT = (
    'Thought: I am on \'Welcome\'. I need "Velod Wren", "Price". '
    "I should type 'Velod Wren' into 'Search products'.\n\nAction: Type [3]; Velod Wren"
)
WRONG = "Thought: so.\n\nAction: GoBack"
TAKEN = [(HOME, RIGHT), (CART, WRONG), (CART, WRONG), (HOME, RIGHT.replace("Price", "Cart"))]
"""Pages and what the agent said there: as the teacher, otherwise, the same again, the same act for another reason."""


def trajectory(results: Path, task_id: str, verdict: Verdict | None) -> Path:
    folder = results / folder_name(task_id)
    writer = TrajectoryWriter(folder, dataclasses.replace(TASK, id=task_id), provenance={}, system_prompt="")
    for number, (tree, reply) in enumerate(TAKEN, start=1):
        writer.write_observation(number, tree, {}, screenshot(number))
        writer.add_step(TrajectoryStep(number, url=TASK.web, reply=reply), tree)
    writer.finish(MAX_STEPS)
    if verdict:
        write_outcome(folder, Outcome(verdict, judge="test"))
    return folder


def correct(results: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "collection" / "correct.py"), "--result_dir", str(results), *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_failures_are_corrected_once_and_become_samples_where_the_teacher_says_something_else(
    teacher: str, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    failed = trajectory(results, "Shop-price--0", Verdict.FAILURE)
    others = [trajectory(results, "Shop-price--1", Verdict.SUCCESS), trajectory(results, "Shop-price--2", None)]
    told = correct(results, "--api_base", teacher, "--api_model", "teacher")
    assert told.returncode == 0, told.stderr
    assert "1 trajectories failed, 1 corrected, 1 now" in told.stdout
    assert not any((other / FILE_NAME).exists() for other in others)
    said = read_corrections(failed, len(TAKEN)).replies
    ways = ["Type [3]; Velod Wren", "Click [2]", "Click [2]", "Type [3]; Velod Wren"]
    assert [reply.rpartition("Action: ")[2] for reply in said] == ways

    main(Config(str(results), str(tmp_path / "images"), str(tmp_path / "all.json"), only_success=True, corrected=True))
    samples = {sample["id"]: sample for sample in json.loads((tmp_path / "all.json").read_text())}
    learned = [f"Shop-price--00000--r01--step0{number}" for number in (2, 4)]  # the third is the second again
    assert [name for name in samples if "--00000--" in name] == learned
    for name, reply in zip(learned, (said[1], said[3]), strict=True):
        assert samples[name]["conversations"][-1] == {"from": "gpt", "value": reply}
        assert samples[name].keys() == {"id", "images", "conversations"}

    before = (failed / FILE_NAME).stat().st_mtime_ns
    again = correct(results, "--api_base", "http://127.0.0.1:1/v1", "--api_model", "teacher")
    assert again.returncode == 0, again.stderr
    assert (failed / FILE_NAME).stat().st_mtime_ns == before


def test_a_teacher_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    trajectory(tmp_path, "Shop-price--0", Verdict.FAILURE)
    told = correct(tmp_path, "--api_base", "http://127.0.0.1:1/v1", "--api_model", "teacher")
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
    assert "nothing answers" in told.stderr


def test_an_outage_of_the_teacher_is_no_answer_for_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it refuses, such as a page too long to read, is."""

    faults = {1: PolicyError("HTTP 400"), 3: UnansweredError("HTTP 529")}

    class Teacher:
        name = "teacher"

        async def check(self) -> None:
            pass

        async def reply(self, task: Task, folder: str, steps: list, images: dict, seed: None) -> Completion:
            if fault := faults.get(len(steps)):
                raise fault
            return Completion(text=RIGHT)

        async def close(self) -> None:
            pass

    monkeypatch.setattr("collection.correct.make_policy", lambda config: Teacher())
    folder, config = trajectory(tmp_path, "Shop-price--0", Verdict.FAILURE), CorrectionConfig(result_dir=tmp_path)
    assert correct_trajectories(config) == 1 and read_corrections(folder, len(TAKEN)) is None
    told = capsys.readouterr()
    assert "1 trajectories failed, 0 corrected, 0 now" in told.out
    assert told.err == "1 are left, as the teacher failed (HTTP 529); the same command asks again\n"
    del faults[3]
    assert correct_trajectories(config) == 0
    assert read_corrections(folder, len(TAKEN)).replies == ["", RIGHT, RIGHT, RIGHT]


@pytest.mark.parametrize("content", ["[]", '{"teacher": "x"}', '{"teacher": "x", "replies": ["one"]}', '{"teacher": 1'])
def test_corrections_of_something_else_are_refused(content: str, tmp_path: Path) -> None:
    folder = trajectory(tmp_path, "Shop-price--0", Verdict.FAILURE)
    (folder / FILE_NAME).write_text(content)
    with pytest.raises(UserError, match=FILE_NAME):
        read_corrections(folder, len(TAKEN))


def test_corrections_come_back_as_they_were(tmp_path: Path) -> None:
    write_corrections(tmp_path, Corrections("gpt", ["a", ""]))
    assert read_corrections(tmp_path, 2) == Corrections("gpt", ["a", ""])


@pytest.mark.parametrize(
    ("agent", "algorithm"), [("teacher", "sft"), ("policy", "filtered_bc")], ids=["its own round", "another algorithm"]
)
def test_a_round_that_cannot_learn_from_corrections_is_refused(agent: str, algorithm: str) -> None:
    with pytest.raises(UserError, match="corrections"):
        training = TrainingOptions(algorithm=algorithm)
        rounds = [Round("a", Path("tasks.jsonl"), agent=agent, training=training, corrections=True)]
        Recipe("x", starting_policy=Path(), test_tasks=Path("test.jsonl"), rounds=rounds)
