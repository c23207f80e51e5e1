"""The oracle: compares the answer and the site's final state with the task's ground truth. A pure function.

`eval` follows WebArena. `string_match` knows `exact_match` (one value) and `must_include` (a list of values, each found
as a whole: `24.50` is not in `124.50`); `site_state` compares our sites' state. All types named must hold.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import BLOCKED, INVALID, Trajectory, read_trajectory

NAME = "oracle"


def judge(task: Task, folder: Path) -> Outcome:
    """Success when the agent answered and everything in `task.eval` holds.

    Raises:
        UserError: the task has no ground truth, or one this judge cannot check.
    """
    checks = _checks(task)
    trajectory = read_trajectory(folder)
    if trajectory.status == INVALID:
        return Outcome(Verdict.INVALID, trajectory.reason or "the trajectory ended by a fault")
    if trajectory.status == BLOCKED:
        return Outcome(Verdict.BLOCKED, trajectory.reason)
    if not trajectory.finished:
        return Outcome(Verdict.FAILURE, "the agent did not answer", NAME)
    for check in checks:
        if complaint := check(task, trajectory):
            return Outcome(Verdict.FAILURE, complaint, NAME)
    return Outcome(Verdict.SUCCESS, "", NAME)


Check = Callable[[Task, Trajectory], str]  # what is wrong, or ""


def _checks(task: Task) -> list[Check]:
    known: dict[str, Check] = {"string_match": _check_answer, "site_state": check_state}
    types = (task.eval or {}).get("eval_types", [])
    if not types:
        raise UserError(f"task {task.id} has no ground truth (eval.eval_types); the oracle cannot judge it")
    if unknown := [name for name in types if name not in known]:
        raise UserError(f"task {task.id}: the oracle does not know the eval type {unknown[0]!r}")
    return [known[name] for name in types]


def _check_answer(task: Task, trajectory: Trajectory) -> str:
    answer = normalise(trajectory.answer or "")
    for kind, expected in task.eval["reference_answers"].items():
        if kind == "exact_match":
            held = answer == normalise(expected)
        elif kind == "must_include":
            held = all(includes(answer, normalise(value)) for value in expected)
        else:
            raise UserError(f"task {task.id}: the oracle does not know the reference answer {kind!r}")
        if not held:
            return f"answered {trajectory.answer!r}, expected {kind} {expected!r}"
    return ""


def check_state(task: Task, trajectory: Trajectory) -> str:
    """What is wrong with the embedded site's final state, or ""."""
    state = trajectory.final_state()
    if state is None:
        raise ValueError(f"{trajectory.folder}: final_state.json is missing")
    for name, expected in task.eval["site_state"].items():
        if not agrees(expected, state.get(name)):
            return f"{name} is {state.get(name)!r}, expected {expected!r}"
    return ""


def normalise(text: str) -> str:
    """Lower case, single spaces, no quotes around it and no full stop after it."""
    return " ".join(text.lower().split()).strip("\"'").rstrip(".!;, ").strip("\"'")


def includes(answer: str, value: str) -> bool:
    """Whether `value` stands in `answer` as a whole: no word or number goes on at either end."""
    return re.search(rf"(?<![\w])(?<!\d[.,:]){re.escape(value)}(?![\w])(?![.,:]\d)", answer) is not None


def agrees(expected: Any, found: Any) -> bool:
    """Whether `found` is as expected: in dicts the expected fields, in lists the same items in any order."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(agrees(value, found.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and _pair(expected, found)
    if isinstance(expected, str) and isinstance(found, str):
        return normalise(expected) == normalise(found)
    return type(expected) is type(found) and expected == found


def _pair(expected: list[Any], found: list[Any]) -> bool:
    """Whether the items can be paired off."""
    if not expected:
        return True
    return any(
        agrees(expected[0], item) and _pair(expected[1:], found[:index] + found[index + 1 :])
        for index, item in enumerate(found)
    )
