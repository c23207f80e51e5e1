"""A report to hand in: what one policy solved of a task set, by website and family, with intervals, steps and tokens.

    python collection/run.py --env apps --test_file tasks/apps/test.jsonl --headless --max_iter 20 \\
        --api_base http://HOST:PORT/v1 --api_model NAME --report report.json
"""

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collection.evaluation.summary import summarise
from common.errors import UserError
from common.shown.tables import Table, print_table
from data.task import SITES_PORT, Task
from data.trajectory import is_complete, list_trajectories, read_trajectory, split_folder_name

FORMAT = "elcano-report-1"
_OF_ONE_TRY = {"seed", "contaminated_by"}
_SITES = re.compile(r"^(https?://[\w-]+\.localhost):\d+(?=/|$)")


@dataclass(frozen=True)
class Cost:
    """Of one trajectory."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


def make_report(results_dir: Path, tasks: Sequence[Task]) -> dict[str, Any]:
    """`summarise` with its groups' tokens, the task set's hash, and the settings that all trajectories share.

    Raises:
        UserError: there is no complete trajectory of these tasks, or they differ in their settings.
    """
    summary = summarise(results_dir, tasks)
    costs, settings = _read(results_dir, {task.id for task in tasks})
    for name, of_task in (("sites", lambda task: task.site), ("domains", lambda task: task.domain)):
        for group, counts in summary.get(name, {}).items():
            counts |= _mean_tokens(
                [cost for task in tasks if of_task(task) == group for cost in costs.get(task.id, ())]
            )
    return {
        "format": FORMAT,
        "elcano": importlib.metadata.version("elcano"),
        "task_set": {"num_tasks": len(tasks), "sha256": task_set_digest(tasks)},
        "settings": settings,
        **summary,
        **_mean_tokens([cost for tries in costs.values() for cost in tries]),
    }


def task_set_digest(tasks: Sequence[Task]) -> str:
    """The SHA-256 of the file that `write_tasks` makes of them, wherever their websites were served."""
    moved = (replace(task, web=_SITES.sub(rf"\1:{SITES_PORT}", task.web)) for task in tasks)
    lines = (json.dumps(task.to_json(), ensure_ascii=False) + "\n" for task in moved)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def print_report(report: dict[str, Any]) -> None:
    """Tables by website and by family, to standard output."""
    for title, name in (("website", "sites"), ("family", "domains")):
        if groups := report.get(name):
            table = Table([title], ["success", "95 %", "solved", "tasks", "invalid", "missing", "steps", "tokens"])
            for group, counts in {**groups, "all": report}.items():
                table.add(group, *_cells(counts), is_total=counts is report)
            print_table(table)
    print("tokens: those that a task took, read and written; task set {sha256}".format(**report["task_set"]))


def _cells(counts: dict[str, Any]) -> tuple[str, ...]:
    low, high = counts["interval"]
    tokens = f"{counts['mean_prompt_tokens']:.0f}+{counts['mean_completion_tokens']:.0f}"
    return (
        f"{counts['success_rate']:.1%}",
        f"{low:.0%} to {high:.0%}",
        *(str(counts[f"num_{name}"]) for name in ("success", "tasks", "invalid", "missing")),
        f"{counts['mean_steps']:.1f}",
        tokens,
    )


def _read(results_dir: Path, task_ids: set[str]) -> tuple[dict[str, list[Cost]], dict[str, Any]]:
    """(what the trajectories of each task cost, the settings that all of them had)."""
    costs: dict[str, list[Cost]] = {}
    shared: dict[str, Any] | None = None
    for folder in list_trajectories(results_dir):
        task_id = split_folder_name(folder.name)[0]
        if task_id not in task_ids or not is_complete(folder):
            continue
        trajectory = read_trajectory(folder)
        steps = trajectory.steps
        cost = Cost(sum(step.prompt_tokens for step in steps), sum(step.completion_tokens for step in steps))
        costs.setdefault(task_id, []).append(cost)
        settings = {name: value for name, value in trajectory.provenance.items() if name not in _OF_ONE_TRY}
        if settings and shared is not None and settings != shared:
            differ = sorted(name for name in settings | shared if settings.get(name) != shared.get(name))
            raise UserError(f"{results_dir}: trajectories differ in {', '.join(differ)}; a report is about one setting")
        shared = settings or shared
    if shared is None:
        raise UserError(f"{results_dir}: holds no trajectory of these tasks that began, so there is nothing to report")
    return costs, shared


def _mean_tokens(costs: Sequence[Cost]) -> dict[str, float]:
    count = max(1, len(costs))
    return {
        "mean_prompt_tokens": sum(cost.prompt_tokens for cost in costs) / count,
        "mean_completion_tokens": sum(cost.completion_tokens for cost in costs) / count,
    }
