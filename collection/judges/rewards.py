"""Judges that read what the environment itself said, or only whether the agent answered. Pure functions of a folder."""

from pathlib import Path

from collection.judges.settled import settled_without_judge
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import read_trajectory


def miniwob(task: Task, folder: Path) -> Outcome:
    """MiniWoB's own reward, kept in `final_state.json` as `raw_reward`: any positive one is success, as in BrowserGym.
    (The oracle is stricter: it wants the whole reward.)

    Raises:
        ValueError: no reward was kept.
    """
    trajectory = read_trajectory(folder)
    if (ended := trajectory.ended_by_others) is not None:
        return ended
    state = trajectory.final_state()
    if not isinstance(state, dict):
        raise ValueError(f"{folder}: final_state.json holds no reward")
    reward = state.get("raw_reward", 0)  # none was given while the task was not over
    return Outcome(Verdict.SUCCESS if reward > 0 else Verdict.FAILURE, f"reward {reward:g}", "miniwob")


def finished(task: Task, folder: Path) -> Outcome:
    """Success when the agent answered at all, as OpenWebVoyager keeps its teacher's trajectories."""
    trajectory = read_trajectory(folder)
    return settled_without_judge(trajectory, "finished") or Outcome(Verdict.SUCCESS, "the agent answered", "finished")
