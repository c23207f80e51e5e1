"""Judges by name, and the one place that asks them."""

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from data.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import read_outcome, write_outcome

Judge = Callable[[Task, Path], Outcome]

_MODULES = {"oracle": "collection.judges.oracle"}


def get_judge(name: str, tasks: Sequence[Task]) -> Judge | None:
    """The judge of that name, who is to judge these tasks; None for `none`.

    Raises:
        UserError: a task lacks the ground truth that the oracle compares with.
    """
    if name == "none":
        return None
    for task in tasks:
        if name == "oracle" and not task.eval:
            raise UserError(f"task {task.id} has no ground truth (a field `eval`), so the oracle cannot judge it")
    return importlib.import_module(_MODULES[name]).judge


def judge_once(judge: Judge, task: Task, folder: Path) -> Outcome:
    """The verdict on a complete trajectory: the one it has, or a new one, which is written beside it.

    A fault of the judge is an `invalid` verdict, and asked for again next time.
    """
    outcome = read_outcome(folder)
    if outcome is not None and not (outcome.verdict is Verdict.INVALID and outcome.judge):
        return outcome
    try:
        outcome = judge(task, folder)
    except UserError:
        raise
    except Exception as error:
        reason = f"the judge failed: {type(error).__name__}: {error}"
        outcome = Outcome(Verdict.INVALID, reason, judge=judge.__module__.rpartition(".")[2])
    write_outcome(folder, outcome)
    return outcome
