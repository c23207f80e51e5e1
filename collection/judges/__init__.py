"""Judges: who says whether a trajectory did what its task asked. All are called as `judge(task, folder)`."""

from pathlib import Path
from typing import Protocol

from data.outcome import Outcome
from data.task import Task


class Judge(Protocol):
    """The verdict on a complete trajectory folder. A fault of the judge itself raises, and counts as `invalid`."""

    def __call__(self, task: Task, folder: Path) -> Outcome: ...


def judge_name(judge: Judge) -> str:
    """What verdicts call it: its `name`, else the module of a function."""
    named = getattr(judge, "name", None) or getattr(getattr(judge, "judge", None), "name", None)
    return named or getattr(judge, "__module__", "judge").rpartition(".")[2]
