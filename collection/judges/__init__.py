"""Judges: who says whether a trajectory did what its task asked. Each is a module with `judge(task, folder)`."""

from pathlib import Path
from typing import Protocol

from data.outcome import Outcome
from data.task import Task


class Judge(Protocol):
    """The verdict on a complete trajectory folder. A fault of the judge itself raises, and counts as `invalid`."""

    def __call__(self, task: Task, folder: Path) -> Outcome: ...
