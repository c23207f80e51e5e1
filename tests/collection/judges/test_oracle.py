"""The oracle: what it accepts, what it refuses, and that faults are nobody's failure."""

from pathlib import Path

import pytest

from collection.judges.oracle import judge
from common.errors import UserError
from data.outcome import Verdict
from data.task import Task
from data.trajectory import FINISHED, INVALID, MAX_STEPS, TrajectoryStep
from data.trajectory_writer import TrajectoryWriter

REPLY = "Thought: I know.\n\nAction: ANSWER; it"


def record(folder: Path, task: Task, answer: str | None = "done", state: object = None, status: str = FINISHED) -> Path:
    """A complete trajectory folder of one step."""
    writer = TrajectoryWriter(folder / f"task{task.id}", task, provenance={}, system_prompt="")
    writer.write_observation(1, "[1] RootWebArea 'x'", {}, b"png")
    writer.add_step(TrajectoryStep(number=1, url=task.web, reply=REPLY), "[1] RootWebArea 'x'")
    if state is not None:
        writer.write_final("final_state", state)
    writer.finish(status, answer=answer, reason="the browser crashed" if status == INVALID else "")
    return writer.folder


def task_of(**ground_truth: object) -> Task:
    return Task("Some--000", "find it", "http://shop.localhost:7070/", eval=ground_truth or None)


def answer_task(**reference: object) -> Task:
    return task_of(eval_types=["string_match"], reference_answers=reference)


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        ("24.50 EUR", "24.50 EUR", True),
        ("24.50 EUR", "The price is  24.50 eur.", True),
        ("24.50 EUR", "124.50 EUR", False),
        ("24.50 EUR", "24.50", False),
        ("24.50 EUR", "24.505 EUR", False),
        ("24.50 EUR", "24.50 EURO", False),
        ("7", "Platform 7", True),
        ("7", "17", False),
        ("7", "7.5", False),
        ("7", "0.7", False),
        ("7", "7:30", False),
        ("7", "7.", True),
        ("10:21", "at 10:21, daily", True),
        ("10:21", "10:21:30", False),
        ("2 years", "12 years", False),
        ("oak", "cloaked", False),
        ("velod", '"Velod"', True),
        ("a.c", "abc", False),
        ("3204.61", "It is €3,204.61 in all", True),
        ("3204.61", "-3204.61 EUR", False),
        ("-3204.61", "-3,204.61 EUR", True),
        ("204.61", "3,204.61", False),
        ("106", "106,107", False),
        ("683", "683cm", True),
        ("683", "683b", False),
        ("3.0", "v3.0", True),
        ("15", "ticket-15", True),
        ("15", "- 15", True),
    ],
)
def test_an_answer_must_hold_the_value_as_a_whole(tmp_path, expected, answer, right):
    task = answer_task(must_include=[expected])
    assert judge(task, record(tmp_path, task, answer)).success is right


def test_every_value_must_be_there(tmp_path):
    task = answer_task(must_include=["oak", "3 kg"])
    assert judge(task, record(tmp_path / "both", task, "oak, 3 kg")).success
    assert not judge(task, record(tmp_path / "one", task, "3 kg")).success


@pytest.mark.parametrize(("answer", "right"), [(" velod  falcon. ", True), ("Velod Falcon or Mabib Wren", False)])
def test_an_exact_answer_is_the_value_and_nothing_else(tmp_path, answer, right):
    task = answer_task(exact_match="Velod Falcon")
    outcome = judge(task, record(tmp_path, task, answer))
    assert outcome.success is right and outcome.judge == "oracle"
    assert right or "expected exact_match 'Velod Falcon'" in outcome.reason


TWO = [{"product": "Velod Falcon", "quantity": 2}, {"product": "Mabib Wren", "quantity": 1}]


@pytest.mark.parametrize(
    ("cart", "right"),
    [
        (TWO, True),
        (TWO[::-1], True),
        ([{**line, "colour": "red"} for line in TWO], True),
        (TWO[:1], False),
        ([*TWO, TWO[0]], False),
        ([TWO[0], TWO[0]], False),
        ([{**TWO[0], "quantity": "2"}, TWO[1]], False),
        ([{**TWO[0], "quantity": True}, TWO[1]], False),
        (None, False),
    ],
)
def test_the_state_must_agree_in_any_order_with_nothing_more(tmp_path, cart, right):
    task = task_of(eval_types=["site_state"], site_state={"cart": TWO})
    assert judge(task, record(tmp_path, task, state={"cart": cart, "other": 1})).success is right


def test_both_kinds_must_hold(tmp_path):
    task = task_of(
        eval_types=["string_match", "site_state"],
        reference_answers={"must_include": ["7"]},
        site_state={"votes": ["x"]},
    )
    assert judge(task, record(tmp_path / "both", task, "7", state={"votes": ["x"]})).success
    assert not judge(task, record(tmp_path / "state", task, "8", state={"votes": ["x"]})).success
    assert not judge(task, record(tmp_path / "answer", task, "7", state={"votes": []})).success


def test_an_agent_that_does_not_answer_fails_even_in_the_right_state(tmp_path):
    task = task_of(eval_types=["site_state"], site_state={"votes": []})
    folder = record(tmp_path, task, answer=None, state={"votes": []}, status=MAX_STEPS)
    outcome = judge(task, folder)
    assert outcome.verdict is Verdict.FAILURE and "did not answer" in outcome.reason


def test_a_fault_is_invalid_whatever_was_answered(tmp_path):
    task = answer_task(must_include=["7"])
    outcome = judge(task, record(tmp_path, task, "7", status=INVALID))
    assert outcome.verdict is Verdict.INVALID and outcome.reason == "the browser crashed"


def test_a_state_that_was_not_kept_is_no_failure_of_the_agent(tmp_path):
    task = task_of(eval_types=["site_state"], site_state={"votes": []})
    with pytest.raises(ValueError, match=r"final_state\.json is missing"):
        judge(task, record(tmp_path, task))


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        (task_of(), "no ground truth"),
        (task_of(eval_types=["program_html"]), "does not know the eval type 'program_html'"),
        (answer_task(fuzzy_match="7"), "does not know the reference answer 'fuzzy_match'"),
    ],
)
def test_a_task_the_oracle_cannot_judge_is_named(tmp_path, task, complaint):
    with pytest.raises(UserError, match=f"Some--000.*{complaint}"):
        judge(task, record(tmp_path, task))


def test_judging_writes_nothing_and_repeats_itself(tmp_path):
    task = answer_task(must_include=["7"])
    folder = record(tmp_path, task, "8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert judge(task, folder) == judge(task, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
