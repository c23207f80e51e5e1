"""The one place that asks judges: whatever goes wrong with them is `invalid`, and asked for again next time."""

from pathlib import Path

from collection.judges import Judge, judge_name
from common.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import read_outcome, write_outcome


def judge_once(judge: Judge, task: Task, folder: Path) -> Outcome:
    """The verdict on a complete trajectory: the one it has, or a new one, which is written beside it.

    Raises:
        UserError: the judge cannot work at all (a refused key, say); the trajectory stays unjudged.
    """
    outcome = read_outcome(folder)
    if outcome is not None and not is_judge_fault(outcome):
        return outcome
    try:
        outcome = judge(task, folder)
    except UserError:
        raise
    except Exception as error:  # an outage, an unreadable reply, our own bug: none is the agent's failure
        reason = f"the judge failed: {type(error).__name__}: {error}"
        outcome = Outcome(Verdict.INVALID, reason, judge=judge_name(judge))
    write_outcome(folder, outcome)
    return outcome


def is_judge_fault(outcome: Outcome) -> bool:
    """Whether the judge, and not the trajectory, is why there is no verdict."""
    return outcome.verdict is Verdict.INVALID and bool(outcome.judge)
