"""Whether an answer and a final state are what a task's ground truth asks. Pure functions.

`eval` follows WebArena. `string_match` knows `exact_match` (one value), `must_include` (a list of values, each found
as a whole: `24.50` is not in `124.50`) and `must_exclude` (a list of which none is found, so that who names everything
has answered nothing); `site_state` compares our sites' state. All types named must hold.
"""

import re
from typing import Any

from common.errors import UserError
from data.task import Task

KINDS = ("string_match", "site_state")


def check_kinds(task: Task) -> None:
    """Raise UserError for a task without ground truth, or with a kind of it that only another judge knows."""
    kinds = task.truth.get("eval_types", [])
    if not kinds:
        raise UserError(f"task {task.id} has no ground truth (eval.eval_types); the oracle cannot judge it")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UserError(f"task {task.id}: the oracle does not know the eval type {unknown[0]!r}")


def find_fault(task: Task, answer: str, state: Any) -> str:
    """What is wrong with the answer or the final state, or "".

    Raises:
        UserError: see `check_kinds`.
        ValueError: the state is None, and the task needs one.
    """
    check_kinds(task)
    checks = {"string_match": lambda: check_answer(task, answer), "site_state": lambda: check_state(task, state)}
    return next(filter(None, (checks[kind]() for kind in task.truth["eval_types"])), "")


def check_answer(task: Task, answer: str) -> str:
    """What is wrong with the answer, or ""."""
    said = _plain(answer)
    for kind, expected in task.truth["reference_answers"].items():
        if kind == "exact_match":
            held = said == _plain(expected)
        elif kind == "must_include":
            held = all(includes(said, _plain(value)) for value in expected)
        elif kind == "must_exclude":
            held = not any(includes(said, _plain(value)) for value in expected)
        else:
            raise UserError(f"task {task.id}: the oracle does not know the reference answer {kind!r}")
        if not held:
            return f"answered {answer!r}, expected {kind} {expected!r}"
    return ""


def check_state(task: Task, state: Any) -> str:
    """What is wrong with the final state, or ""."""
    if state is None:
        raise ValueError("final_state.json is missing")
    for name, expected in task.truth["site_state"].items():
        if not agrees(expected, state.get(name)):
            return f"{name} is {state.get(name)!r}, expected {expected!r}"
    return ""


def normalize(text: str) -> str:
    """Lower case, single spaces, no quotes around it and no full stop after it."""
    return " ".join(text.lower().split()).strip("\"'").rstrip(".!;, ").strip("\"'")


def _plain(text: str) -> str:
    """Normalized, and its numbers as pages have them: of `3,204.61`, `683cm` and `v3.0` remain 3204.61, 683 cm, 3.0."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", normalize(text))
    return re.sub(r"\bv(?=\d)", "", re.sub(r"(?<=\d)(?=(?:mm|cm|m|km|kg|eur|euros?)\b)", " ", text))


def includes(answer: str, value: str) -> bool:
    """Whether `value` stands in `answer` as a whole: no word or number goes on at either end, and no number has a minus
    that is not its own."""
    unsigned = r"(?<!\W[-−])(?<!^[-−])" if value[:1].isdigit() else ""
    return re.search(rf"(?<!\w)(?<!\d[.,:]){unsigned}{re.escape(value)}(?!\w)(?![.,:]\d)", answer) is not None


def agrees(expected: Any, found: Any) -> bool:
    """Whether `found` is as expected: in dicts the expected fields, in lists the same items in any order."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(agrees(value, found.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and _pair(expected, found)
    if isinstance(expected, str) and isinstance(found, str):
        return normalize(expected) == normalize(found)
    return type(expected) is type(found) and expected == found


def _pair(expected: list[Any], found: list[Any]) -> bool:
    """Whether the items can be paired off."""
    if not expected:
        return True
    return any(
        agrees(expected[0], item) and _pair(expected[1:], found[:index] + found[index + 1 :])
        for index, item in enumerate(found)
    )
