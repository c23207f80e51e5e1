"""The oracle: compares the answer and the final state with the task's ground truth. A pure function of a folder."""

from pathlib import Path

from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import BLOCKED, INVALID, read_trajectory
from environments.ground_truth import check_kinds, find_fault

NAME = "oracle"


def judge(task: Task, folder: Path) -> Outcome:
    """Success when the agent answered and everything in `task.eval` holds.

    Raises:
        UserError: the task has no ground truth, or one this judge cannot check.
    """
    check_kinds(task)
    trajectory = read_trajectory(folder)
    if trajectory.status == INVALID:
        return Outcome(Verdict.INVALID, trajectory.reason or "the trajectory ended by a fault")
    if trajectory.status == BLOCKED:
        return Outcome(Verdict.BLOCKED, trajectory.reason)
    if not trajectory.finished:
        return Outcome(Verdict.FAILURE, f"the agent did not answer in {len(trajectory.steps)} steps", NAME)
    complaint = find_fault(task, trajectory.answer or "", trajectory.final_state())
    return Outcome(Verdict.FAILURE if complaint else Verdict.SUCCESS, complaint, NAME)
