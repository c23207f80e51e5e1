"""A judge that errs on purpose, to measure what a method can stand; a trajectory always gets the same error."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from common.seeds import draw
from data.outcome import Outcome, Verdict
from data.task import Task

_OTHER = {Verdict.SUCCESS: Verdict.FAILURE, Verdict.FAILURE: Verdict.SUCCESS}


@dataclasses.dataclass(frozen=True)
class NoisyJudge:
    """Turns the verdict of `judge` round in a share `error_rate` of the trajectories, chosen by the folder's name."""

    judge: Callable[[Task, Path], Outcome]
    error_rate: float

    def __call__(self, task: Task, folder: Path) -> Outcome:
        """The verdict, right or wrong."""
        outcome = self.judge(task, folder)
        if draw(folder.name) >= self.error_rate or outcome.verdict not in _OTHER:
            return outcome
        return dataclasses.replace(
            outcome, verdict=_OTHER[outcome.verdict], reason=f"wrong on purpose: {outcome.reason}", judge="noisy"
        )
