"""Trajectories whose outcome is known before a judge looks at them."""

from data.outcome import Outcome, Verdict
from data.trajectory import Trajectory


def settled_without_judge(trajectory: Trajectory, name: str) -> Outcome | None:
    """The outcome of trajectories on which there is nothing to judge: faults, walls, and agents that did not answer."""
    if (ended := trajectory.ended_by_others) is not None:
        return ended
    if not trajectory.finished:
        return Outcome(Verdict.FAILURE, f"the agent did not answer in {len(trajectory.steps)} steps", name)
    return None
