"""Trajectories of others as trajectory folders."""

import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action import ActionError, Answer, parse_reply
from data.images import opened, to_rgb
from data.outcome import Outcome, Verdict
from data.shard import image_type
from data.task import Task
from data.trajectory import FINISHED, MAX_STEPS, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from toolkits.torch_file import plain


@dataclasses.dataclass(frozen=True)
class ForeignStep:
    """What stood where a tree stands, what the agent said, and the screenshot before it."""

    tree: str
    reply: str
    image: Path


class Tries:
    """Numbers tasks by their website and words, in the order in which they come, and the tries of each, as those of one
    group (`data/rewarded_step.py`)."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[str, int]] = {}  # the task's id, and how often it was tried

    @property
    def count(self) -> int:
        """All tries so far."""
        return sum(tries for _, tries in self._found.values())

    def add(self, kind: str, ques: str, web: str) -> tuple[Task, int]:
        """(task, number of the try from 0); a new task is called `<kind>--<number>`."""
        name, tries = self._found.get((web, ques), (f"{kind}--{len(self._found) + 1}", 0))
        self._found[web, ques] = (name, tries + 1)
        return Task(id=name, ques=ques, web=web), tries


def write_folder(
    where: str,
    out_dir: Path,
    task: Task,
    run: int,
    project: str,
    steps: Sequence[ForeignStep],
    rewards: Sequence[Any],
    judge_said: Any = None,
) -> None:
    """`out_dir/task<ID>--run<run>`; the judge, called as the project in small letters, speaks through the rewards.

    Raises:
        UserError: an image is none; there is no reward (None stands for what is not there), or one is no finite number.
    """
    verdict = _verdict(where, rewards)
    source = {"source": where, "policy": project}
    writer = TrajectoryWriter(out_dir / folder_name(task.id, run), task, provenance=source, system_prompt="")
    try:
        for number, step in enumerate(steps, start=1):
            writer.write_observation(number, step.tree, None, _png(f"{where}, step {number}", step.image))
            writer.add_step(TrajectoryStep(number, url="", reply=step.reply), step.tree)
        answer = _answer(steps[-1].reply)
        writer.finish(FINISHED if answer is not None else MAX_STEPS, answer)
    finally:
        writer.close()
    raw = judge_said if isinstance(judge_said, str) else ""
    write_outcome(writer.folder, Outcome(verdict, judge=project.lower(), raw=raw))


def _verdict(where: str, rewards: Sequence[Any]) -> Verdict:
    found = [plain(reward) for reward in rewards if reward is not None]
    if not found:
        raise UserError(f"{where}: has no reward, which would say whether it succeeded")
    if not all(isinstance(reward, int | float) and math.isfinite(reward) for reward in found):
        raise UserError(f"{where}: a reward is not a finite number")
    return Verdict.SUCCESS if sum(found) > 0 else Verdict.FAILURE


def _png(where: str, path: Path) -> bytes:
    content = path.read_bytes()
    try:
        if image_type(content) == "png":
            return content
        buffer = io.BytesIO()
        with opened(io.BytesIO(content)) as image:
            to_rgb(image).save(buffer, "PNG")
        return buffer.getvalue()
    except (UserError, OSError, ValueError) as error:
        raise UserError(f"{where}: {path}: {error}") from None


def _answer(reply: str) -> str | None:
    try:
        action = parse_reply(reply).action
    except ActionError:
        return None
    return action.content if isinstance(action, Answer) else None
