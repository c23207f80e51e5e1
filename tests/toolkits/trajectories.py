"""Trajectory folders for tests, written by the collector's own writer."""

import io
from pathlib import Path

from PIL import Image

from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import FINISHED, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter


def screenshot(number: int, trajectory: int = 0) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (32, 24), (number * 40 % 256, 90 + trajectory % 150, 120)).save(buffer, "PNG")
    return buffer.getvalue()


def write_trajectory(
    results: Path,
    task_id: str = "Shop--3",
    run: int | None = None,
    num_steps: int = 4,
    status: str | None = FINISHED,
    verdict: Verdict | None = Verdict.SUCCESS,
    web: str = "http://shop.localhost:7070/",
) -> Path:
    """A trajectory folder; `status` None leaves it as a crash would, `verdict` None unjudged."""
    folder = results / folder_name(task_id, run)
    task = Task(id=task_id, ques="Find a shoe.", web=web)
    writer = TrajectoryWriter(folder, task, provenance={}, system_prompt="You browse.", run=run)
    for number in range(1, num_steps + 1):
        action = "ANSWER; blue" if number == num_steps else f"Click [{number}]"
        tree = f"[1] RootWebArea 'Shop {number}'\n\t[2] link 'shoe'"
        writer.write_observation(number, tree, {}, screenshot(number))
        writer.add_step(
            TrajectoryStep(number, url=task.web, reply=f"Thought: step {number}.\n\nAction: {action}"), tree
        )
    if status is None:
        writer.close()
        return folder
    writer.finish(status, answer="blue" if status == FINISHED else None)
    if verdict is not None:
        write_outcome(folder, Outcome(verdict, judge="test"))
    return folder
