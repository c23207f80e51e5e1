"""The one place that asks judges: whatever goes wrong with them is `invalid`, and asked for again next time."""

from collections.abc import Sequence
from pathlib import Path

from collection.judges import Judge, judge_name
from collection.judges.endpoint.faults import JudgeFault
from common.errors import UserError
from common.full_disk import full_disk_error
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import is_complete, list_trajectories, read_outcome, split_folder_name, write_outcome


def judge_once(judge: Judge, task: Task, folder: Path) -> Outcome:
    """The verdict on a complete trajectory: the one it has, or a new one, which is written beside it.

    Raises:
        UserError: the judge cannot work at all (a refused key, say); the trajectory stays unjudged.
    """
    outcome = read_outcome(folder)
    if outcome is not None and not is_judge_fault(outcome):
        return outcome
    outcome = ask(judge, task, folder)
    write_outcome(folder, outcome)
    return outcome


def ask(judge: Judge, task: Task, folder: Path) -> Outcome:
    """A new verdict; `UserError` as of `judge_once`."""
    try:
        return judge(task, folder)
    except UserError:
        raise
    except Exception as error:  # an outage, an unreadable reply, our own bug: none is the agent's failure
        if full := full_disk_error(error):  # of its cache or ledger: a verdict would be paid for and not kept
            raise full from error
        reason = f"the judge failed: {'' if isinstance(error, JudgeFault) else f'{type(error).__name__}: '}{error}"
        return Outcome(Verdict.INVALID, reason, judge_name(judge), raw=getattr(error, "raw", ""))


def cases(results_dir: Path, tasks: Sequence[Task]) -> list[tuple[Task, Path]]:
    """Every complete trajectory of `tasks`, with its task."""
    by_id = {task.id: task for task in tasks}
    found = [(split_folder_name(folder.name)[0], folder) for folder in list_trajectories(results_dir)]
    return [(by_id[task_id], folder) for task_id, folder in found if task_id in by_id and is_complete(folder)]


def is_judge_fault(outcome: Outcome) -> bool:
    """Whether the judge, and not the trajectory, is why there is no verdict."""
    return outcome.verdict is Verdict.INVALID and bool(outcome.judge)


def is_unclear(outcome: Outcome) -> bool:
    """Whether that judge replied, and said nothing clear however often it was asked; an outage may be over sooner."""
    return is_judge_fault(outcome) and bool(outcome.raw)
