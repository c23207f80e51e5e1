"""Count a folder of judged trajectories: how many tasks succeeded, overall and by site, and what proves nothing."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.shown.tables import Table, print_table
from common.significance import wilson
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import (
    FINISHED,
    is_complete,
    list_trajectories,
    outcome_by_end,
    read_end,
    read_outcome,
    read_trajectory,
    split_folder_name,
)

LEFT_OUT = (Verdict.BLOCKED, Verdict.INFEASIBLE, Verdict.INVALID)
"""Of no success rate; a task whose tries differ is counted under the first."""


@dataclass(frozen=True)
class Attempt:
    """One complete trajectory, as far as counting goes. `outcome` is None while nobody judged it."""

    num_steps: int
    outcome: Outcome | None
    run: int = 0
    finished: bool = False

    @property
    def proves(self) -> bool:
        """Whether it tells of the agent, also where nobody judged it yet."""
        return self.outcome is None or self.outcome.verdict.solved is not None


def summarise(results_dir: str | Path, tasks: Sequence[Task]) -> dict[str, Any]:
    """Counts over `tasks`, whose trajectories lie in `results_dir`; trajectories of other tasks are left out.

    A task with several tries succeeds when one of them does. It is left out of `success_rate` when no try tells of the
    agent (`Verdict.solved`): it is `blocked` or `infeasible` when that holds of a try, else `invalid`. A task without
    a trajectory is `missing` and counts as not solved.

    Returns:
        `success_rate, interval, num_tasks, num_success, num_blocked, num_infeasible, num_invalid, num_missing,
        num_unjudged, mean_steps`, and the same fields by site under `sites` and, for tasks that name one as Mind2Web's
        do, by domain under `domains`. `interval` is Wilson's of 95 %, `mean_steps` over all trajectories that tell of
        the agent. `outcomes` tells by id which tasks were solved, of those not left out.
    """
    attempts = read_attempts(results_dir)
    total = _count([attempts[task.id] for task in tasks])
    sites = _group([(task.site, attempts[task.id]) for task in tasks])
    domains = _group([(task.domain, attempts[task.id]) for task in tasks if task.domain])
    outcomes = {task.id: _solved(attempts[task.id]) for task in tasks if _left_out(attempts[task.id]) is None}
    return {**total, "sites": sites, **({"domains": domains} if domains else {}), "outcomes": outcomes}


def explored(results_dir: str | Path, tasks: Sequence[Task], num_tries: int) -> dict[str, Any]:
    """Success by number of tries, as OpenWebVoyager reports exploration.

    Returns:
        `S@1` ... `S@<num_tries>`: share of tasks solved within so many tries; `F@1`: share whose first try ended with
        an answer. Tasks that `summarise` leaves out are not in `num_tasks`, but in `num_blocked` and the like.
    """
    attempts = read_attempts(results_dir)
    tried = [attempts[task.id] for task in tasks]
    valid = [tries for tries in tried if _left_out(tries) is None]
    shares = {"F@1": _share(any(attempt.run == 0 and attempt.finished for attempt in tries) for tries in valid)}
    for most in range(1, num_tries + 1):
        shares[f"S@{most}"] = _share(
            any(attempt.run < most and attempt.outcome and attempt.outcome.success for attempt in tries)
            for tries in valid
        )
    num_successful = sum(bool(attempt.outcome and attempt.outcome.success) for tries in valid for attempt in tries)
    return {**shares, "num_tasks": len(valid), **_num_left_out(tried), "num_successful": num_successful}


def print_explored(table: dict[str, Any]) -> None:
    """One line with the shares in per cent."""
    shares = [name for name in table if "@" in name]
    columns = {"tasks": "num_tasks", **{v: f"num_{v}" for v in _shown([table])}, "successes": "num_successful"}
    printed = Table([], [*columns, *shares])
    printed.add(*(str(table[name]) for name in columns.values()), *(f"{table[name]:.1%}" for name in shares))
    print_table(printed)


def read_attempts(results_dir: str | Path) -> defaultdict[str, list[Attempt]]:
    """The complete trajectories of each task id, first try first; none of a task that was not tried."""
    attempts = defaultdict(list)
    for folder in list_trajectories(results_dir):
        if is_complete(folder):
            task_id, _ = split_folder_name(folder.name)
            attempts[task_id].append(_read_attempt(folder))
    return attempts


def print_summary(summary: dict[str, Any], cost: dict[str, Any] | None = None) -> None:
    """Tables by site and by domain, and what judging cost, to standard output."""
    print_table(_table("site", summary["sites"], summary))
    if "domains" in summary:
        print_table(_table("domain", summary["domains"]))
    if _has_rate(summary):
        print("of tasks like these it solves {:.1%} to {:.1%} (95 %)".format(*summary["interval"]))
    if cost:
        print("judge: " + ", ".join(f"{name} {value}" for name, value in cost.items()))


def exit_code(summary: dict[str, Any], results_dir: Path) -> int:
    """1, and a line on the standard error, where faults ended all trajectories, so that nothing was found out."""
    if not summary["num_tasks"] or summary["num_invalid"] < summary["num_tasks"]:
        return 0
    print(
        f"error: faults ended all {summary['num_tasks']} tasks, so nothing was measured; their reasons are in "
        f"{results_dir}/*/trajectory.json, and the same command tries them again",
        file=sys.stderr,
    )
    return 1


def _table(title: str, groups: dict[str, Any], total: dict[str, Any] | None = None) -> Table:
    rows = {**groups, **({"all": total} if total else {})}
    counted = ("tasks", *_shown(rows.values()), "missing", "unjudged")
    table = Table([title], ["success", "solved", *counted, "steps"])
    for name, counts in rows.items():
        rate = f"{counts['success_rate']:.1%}" if _has_rate(counts) else "-"
        numbers = (counts["num_success"], *(counts[f"num_{column}"] for column in counted))
        table.add(name, rate, *map(str, numbers), f"{counts['mean_steps']:.1f}", is_total=counts is total)
    return table


def _shown(counted: Iterable[dict[str, Any]]) -> list[Verdict]:
    """Reasons to be left out that have a column: faults always, others where there are some."""
    counted = list(counted)
    return [v for v in LEFT_OUT if v is Verdict.INVALID or any(counts[f"num_{v}"] for counts in counted)]


def _has_rate(counts: dict[str, Any]) -> bool:
    """Whether there was a task that the agent could have solved, and a judge."""
    num_left_out = sum(counts[f"num_{verdict}"] for verdict in LEFT_OUT)
    return num_left_out < counts["num_tasks"] and not (counts["num_unjudged"] and not counts["num_success"])


def _read_attempt(folder: Path) -> Attempt:
    end, run = read_end(folder), split_folder_name(folder.name)[1] or 0
    if end is None:
        trajectory = read_trajectory(folder)  # one of OpenWebVoyager's
        return Attempt(len(trajectory.steps), trajectory.outcome, run, trajectory.finished)
    outcome = outcome_by_end(end["status"], end["reason"]) or read_outcome(folder)
    return Attempt(end["num_steps"], outcome, run, end["status"] == FINISHED)


def _group(named: Sequence[tuple[str, list[Attempt]]]) -> dict[str, dict[str, Any]]:
    """Counts by name."""
    groups: dict[str, list[list[Attempt]]] = defaultdict(list)
    for name, tries in named:
        groups[name].append(tries)
    return {name: _count(tasks) for name, tasks in sorted(groups.items())}


def _left_out(tries: Sequence[Attempt]) -> Verdict | None:
    """Why a task is in no rate; None where it is in, as a task that nobody tried is."""
    if not tries or any(attempt.proves for attempt in tries):
        return None
    said = {attempt.outcome.verdict for attempt in tries if attempt.outcome}
    return next(verdict for verdict in LEFT_OUT if verdict in said)


def _num_left_out(tasks: Sequence[Sequence[Attempt]]) -> dict[str, int]:
    why = Counter(map(_left_out, tasks))
    return {f"num_{verdict}": why[verdict] for verdict in LEFT_OUT}


def _solved(tries: Sequence[Attempt]) -> bool:
    return any(attempt.outcome is not None and attempt.outcome.success for attempt in tries)


def _share(hits: Iterable[bool]) -> float:
    """Share of what is true; 0 of nothing."""
    hits = list(map(bool, hits))
    return sum(hits) / max(1, len(hits))


def _count(tasks: Sequence[Sequence[Attempt]]) -> dict[str, Any]:
    valid = [attempt for tries in tasks for attempt in tries if attempt.proves]
    left_out, num_success = _num_left_out(tasks), sum(map(_solved, tasks))
    num_valid = len(tasks) - sum(left_out.values())
    rate = num_success / max(1, num_valid)
    return {
        "success_rate": rate,
        "interval": wilson(rate, num_valid),
        "num_tasks": len(tasks),
        "num_success": num_success,
        **left_out,
        "num_missing": sum(not tries for tries in tasks),
        "num_unjudged": sum(attempt.outcome is None for attempt in valid),
        "mean_steps": sum(attempt.num_steps for attempt in valid) / max(1, len(valid)),
    }
