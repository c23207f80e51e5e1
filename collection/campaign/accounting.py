"""Every task accounted for: what became of each one in an output folder, while collectors run or afterwards.

A run notes the tasks it was given in `collection.json`, so that those nobody began are counted too.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from collection.campaign.lease import LOCK_NAME, leases
from collection.evaluation.summary import Attempt, read_attempts
from common.errors import UserError
from common.files import locked, read_object, write_json
from common.shown.tables import Table, print_table
from data.action_spaces import NUMBERS
from data.outcome import Verdict
from data.task import Task
from data.trajectory import is_complete, list_trajectories, split_folder_name

NOTE = "collection.json"

# In the order they are shown; a task is counted once, under the first that holds.
STATES = {
    "solved": "a try succeeded",
    "running": "a collector works on it now",
    "failed": "the agent did not solve it",
    "blocked": "the website turned the agent away",
    "infeasible": "it cannot be done",
    "unjudged": "taken, but nobody judged it",
    "invalid": "ended by a fault of browser, network, website or judge; taken again next time",
    "interrupted": "begun and not finished; taken again next time",
    "not started": "nobody began it yet",
}
_BY_VERDICT = {
    Verdict.SUCCESS: "solved",
    Verdict.FAILURE: "failed",
    Verdict.BLOCKED: "blocked",
    Verdict.INFEASIBLE: "infeasible",
    Verdict.INVALID: "invalid",
}


def note_tasks(output_dir: Path, tasks: Sequence[Task]) -> None:
    """Add these to the tasks the folder is for."""
    path = output_dir / NOTE
    with locked(path):
        known = _sites(path)
        sites = known | {task.id: task.site for task in tasks}
        if sites != known:
            write_json(path, {"sites": sites})


def check_action_space(output_dir: Path, wanted: str) -> None:
    """`UserError` where the folder holds trajectories of another action space: they would be counted as this one's."""
    complete = (folder for folder in list_trajectories(output_dir) if is_complete(folder))
    if first := next(complete, None):
        note = first / "trajectory.json"  # which OpenWebVoyager's folders have not
        provenance = read_object(note).get("provenance") if note.exists() else None
        had = provenance.get("action_space", NUMBERS) if isinstance(provenance, dict) else NUMBERS
        if had != wanted:
            raise UserError(f"{output_dir} was collected with --action_space {had}; give another --output_dir")


def states(output_dir: Path) -> dict[str, tuple[str, str]]:
    """(site, state) of each task, by id.

    Raises:
        UserError: there is no such folder.
    """
    folders = {split_folder_name(folder.name)[0] for folder in list_trajectories(output_dir)}
    sites = _sites(output_dir / NOTE)
    if not folders and not sites:
        raise UserError(f"{output_dir}: holds no trajectories")
    attempts = read_attempts(output_dir)
    running = _running(output_dir, {*folders, *sites})
    return {
        task_id: (sites.get(task_id, ""), _state(attempts.get(task_id, []), task_id in running, task_id in folders))
        for task_id in sorted({*folders, *sites})
    }


def _sites(note: Path) -> dict[str, str]:
    """The site of each task that was noted."""
    sites = read_object(note).get("sites") if note.exists() else {}
    if not isinstance(sites, dict) or not all(isinstance(site, str) for site in sites.values()):
        raise UserError(f"{note}: not the note of a collection; delete it, and the next run writes it again")
    return sites


def print_status(output_dir: Path) -> None:
    """A table of states, to standard output."""
    found = states(output_dir)
    counts = Counter(state for _, state in found.values())
    table = Table([], ["tasks"], ["state", ""])
    for state, meaning in STATES.items():
        if counts[state]:
            table.add(str(counts[state]), state, meaning)
    table.add(str(len(found)), "all", is_total=True)
    print_table(table)


def _running(output_dir: Path, task_ids: set[str]) -> set[str]:
    """Those that a collector holds the lease of."""
    if not (output_dir / LOCK_NAME).exists():
        return set()
    running = set()
    with leases(output_dir) as held:
        for task_id in task_ids:
            if held.take(task_id, shared=True):
                held.give_back(task_id)
            else:
                running.add(task_id)
    return running


def _state(tries: Sequence[Attempt], is_running: bool, has_folder: bool) -> str:
    if any(attempt.outcome and attempt.outcome.success for attempt in tries):
        return "solved"
    if is_running:
        return "running"
    if not tries:
        return "interrupted" if has_folder else "not started"
    outcome = tries[-1].outcome
    return _BY_VERDICT[outcome.verdict] if outcome else "unjudged"
