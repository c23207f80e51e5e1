"""Count a folder of judged trajectories: how many tasks succeeded, overall and by site, and what proves nothing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from data.files import read_json
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import INVALID, is_complete, list_trajectories, read_outcome, read_trajectory, split_folder_name


@dataclass(frozen=True)
class Attempt:
    """One complete trajectory, as far as counting goes. `outcome` is None while nobody judged it."""

    num_steps: int
    outcome: Outcome | None

    @property
    def is_invalid(self) -> bool:
        return self.outcome is not None and self.outcome.verdict is Verdict.INVALID


def summarise(results_dir: str | Path, tasks: Sequence[Task]) -> dict[str, Any]:
    """Counts over `tasks`, whose trajectories lie in `results_dir`; trajectories of other tasks are left out.

    A task with several tries succeeds when one of them does. It is `invalid` when faults ended all its tries, and then
    left out of `success_rate`; a task without a trajectory is `missing` and counts as not solved.

    Returns:
        `success_rate, num_tasks, num_success, num_invalid, num_missing, num_unjudged, mean_steps`, and `sites` with the
        same fields by site. `mean_steps` is over all trajectories that no fault ended.
    """
    attempts = read_attempts(results_dir)
    by_site: dict[str, list[list[Attempt]]] = defaultdict(list)
    for task in tasks:
        by_site[task.site].append(attempts.get(task.id, []))
    total = _count([tries for site in by_site.values() for tries in site])
    return {**total, "sites": {site: _count(tasks_of_site) for site, tasks_of_site in sorted(by_site.items())}}


def read_attempts(results_dir: str | Path) -> dict[str, list[Attempt]]:
    """The complete trajectories of each task id, first try first."""
    attempts = defaultdict(list)
    for folder in list_trajectories(results_dir):
        if is_complete(folder):
            task_id, _ = split_folder_name(folder.name)
            attempts[task_id].append(_read_attempt(folder))
    return attempts


def print_summary(summary: dict[str, Any]) -> None:
    """A table by site, to standard output."""
    table = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("site", no_wrap=True)
    for title in ("success", "solved", "tasks", "invalid", "missing", "unjudged", "steps"):
        table.add_column(title, justify="right", no_wrap=True)
    for site, counts in [*summary["sites"].items(), ("all", summary)]:
        if site == "all":
            table.add_section()
        rate = "-" if counts["num_unjudged"] and not counts["num_success"] else f"{counts['success_rate']:.1%}"
        numbers = ("num_success", "num_tasks", "num_invalid", "num_missing", "num_unjudged")
        table.add_row(site, rate, *(str(counts[name]) for name in numbers), f"{counts['mean_steps']:.1f}")
    Console().print(table)


def _read_attempt(folder: Path) -> Attempt:
    path = folder / "trajectory.json"
    if not path.exists():
        trajectory = read_trajectory(folder)  # one of OpenWebVoyager's
        return Attempt(len(trajectory.steps), trajectory.outcome)
    fields = read_json(path)
    outcome = Outcome(Verdict.INVALID, fields["reason"]) if fields["status"] == INVALID else read_outcome(folder)
    return Attempt(fields["num_steps"], outcome)


def _count(tasks: Sequence[Sequence[Attempt]]) -> dict[str, Any]:
    valid = [attempt for tries in tasks for attempt in tries if not attempt.is_invalid]
    num_invalid = sum(bool(tries) and all(attempt.is_invalid for attempt in tries) for tries in tasks)
    num_success = sum(any(attempt.outcome and attempt.outcome.success for attempt in tries) for tries in tasks)
    return {
        "success_rate": num_success / max(1, len(tasks) - num_invalid),
        "num_tasks": len(tasks),
        "num_success": num_success,
        "num_invalid": num_invalid,
        "num_missing": sum(not tries for tries in tasks),
        "num_unjudged": sum(attempt.outcome is None for attempt in valid),
        "mean_steps": sum(attempt.num_steps for attempt in valid) / max(1, len(valid)),
    }
