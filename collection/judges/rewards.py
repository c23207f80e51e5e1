"""Judges that read what the environment itself said, or only whether the agent answered. Pure functions of a folder."""

from pathlib import Path

from collection.judges.verdict_judge import settled_without_judge
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import INVALID, read_trajectory


def miniwob(task: Task, folder: Path) -> Outcome:
    """MiniWoB's own reward, which the collector leaves in `final_state.json` as `{"reward": number}`: success above 0.

    Raises:
        ValueError: no reward was kept.
    """
    trajectory = read_trajectory(folder)
    if trajectory.status == INVALID:
        return Outcome(Verdict.INVALID, trajectory.reason or "the trajectory ended by a fault")
    state = trajectory.final_state()
    if not isinstance(state, dict) or not isinstance(state.get("reward"), int | float):
        raise ValueError(f"{folder}: final_state.json holds no reward")
    verdict = Verdict.SUCCESS if state["reward"] > 0 else Verdict.FAILURE
    return Outcome(verdict, f"reward {state['reward']:g}", "miniwob")


def finished(task: Task, folder: Path) -> Outcome:
    """Success when the agent answered at all, as OpenWebVoyager keeps its teacher's trajectories."""
    trajectory = read_trajectory(folder)
    return settled_without_judge(trajectory, "finished") or Outcome(Verdict.SUCCESS, "the agent answered", "finished")
