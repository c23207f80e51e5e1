"""Judges by name, and the one place that asks them."""

import importlib
from collections.abc import Callable
from pathlib import Path

from data.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import read_outcome, write_outcome

Judge = Callable[[Task, Path], Outcome]

_MODULES = {"oracle": "collection.judges.oracle"}


def get_judge(name: str) -> Judge | None:
    """The judge of that name; None for `none`."""
    if name == "none":
        return None
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
