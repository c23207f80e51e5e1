"""Film strips of a run: one test task that the untrained policy fails at, and the same one later, solved."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from data.trajectory import folder_name, is_complete
from elcano.executors.executor import Command, Executor, python
from elcano.report import Result


def failed(run_dir: Path, result: Result) -> str | None:
    """The first task that a policy tried and did not solve."""
    tried = run_dir / result.name / "test"
    failures = (task for task, solved in result.outcomes.items() if not solved)
    return next((task for task in failures if is_complete(tried / folder_name(task))), None)


def learned(run_dir: Path, results: Sequence[Result]) -> str | None:
    """The first task that the first policy tried and did not solve, and the last one did."""
    solved = {task for task, is_solved in results[-1].outcomes.items() if is_solved}
    first = {task: is_solved for task, is_solved in results[0].outcomes.items() if task in solved}
    return failed(run_dir, dataclasses.replace(results[0], outcomes=first))


def film(executor: Executor, run_dir: Path, name: str, task: str) -> Path:
    """A PNG with all screenshots of a round's trajectory on a test task."""
    command = python(
        "toolkits/make_traces.py", result_dir=run_dir / name / "test", tasks=[task], output_dir=run_dir / name / "film"
    )
    executor.run(Command(command, run_dir / name / "logs" / "film.log"))
    return run_dir / name / "film" / f"{folder_name(task)}.png"
