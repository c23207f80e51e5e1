"""The oracle: compares the answer and the final state with the task's ground truth. A pure function of a folder."""

from pathlib import Path

from collection.judges.settled import settled_without_judge
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import read_trajectory
from environments.ground_truth import check_kinds, find_fault

NAME = "oracle"


def judge(task: Task, folder: Path) -> Outcome:
    """Success when the agent answered and everything in `task.eval` holds.

    Raises:
        UserError: the task has no ground truth, or one this judge cannot check.
    """
    check_kinds(task)
    trajectory = read_trajectory(folder)
    if (settled := settled_without_judge(trajectory, NAME)) is not None:
        return settled
    complaint = find_fault(task, trajectory.answer or "", trajectory.final_state())
    return Outcome(Verdict.FAILURE if complaint else Verdict.SUCCESS, complaint, NAME)
