"""Trajectories of others as trajectory folders."""

import contextlib
import dataclasses
import functools
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action_spaces import NUMBERS, action_space
from data.action_spaces.space import writable
from data.image_check import check_encoded, decoded
from data.outcome import Outcome, Verdict
from data.shards.shard import image_type
from data.task import Task
from data.trajectory import FINISHED, MAX_STEPS, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.steps import NoImageError, check_numbers
from toolkits.readers.reading.torch_file import plain


@dataclasses.dataclass(frozen=True)
class ForeignStep:
    """What stood where a tree stands, what the agent said, and the screenshot before it: a file, its bytes, or None
    where there is none, for which a blank picture stands. `shown` and `actions` as `TrajectoryStep` has them; `boxes`
    by label, and the page's `html`, are kept beside it, the latter as a text that no browser runs."""

    tree: str
    reply: str
    image: Path | bytes | None
    url: str = ""
    feedback: str = ""
    shown: str | None = None
    actions: list[dict[str, Any]] | None = None
    boxes: Mapping[int, Sequence[float]] | None = None
    html: str = ""


@dataclasses.dataclass(frozen=True)
class ForeignTrajectory:
    """The `run`-th try of a task by a policy of `project`. `answer` is None where the agent gave none, `outcome` where
    nobody judged; `space` names an action space other than OpenWebVoyager's in which its replies are."""

    task: Task
    run: int
    project: str
    steps: Sequence[ForeignStep]
    answer: str | None = None
    outcome: Outcome | None = None
    space: str = NUMBERS


class Tries:
    """Numbers tasks by their website and words, in the order in which they come, and the tries of each, as those of one
    group (`data/samples/rewarded_step.py`)."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[str, int]] = {}  # the task's id, and how often it was tried
        self._last = ("", "")

    @property
    def count(self) -> int:
        """All tries so far."""
        return sum(tries for _, tries in self._found.values())

    def add(self, kind: str, ques: str, web: str) -> tuple[Task, int]:
        """(task, number of the try from 0); a new task is called `<kind>--<number>`."""
        ques, web = writable(ques), writable(web)
        name, tries = self._found.get((web, ques), (f"{kind}--{len(self._found) + 1}", 0))
        self._found[web, ques] = (name, tries + 1)
        self._last = web, ques
        return Task(id=name, ques=ques, web=web), tries

    def forget(self) -> None:
        """The last that was added, of which nothing came."""
        name, tries = self._found.pop(self._last)
        if tries > 1:
            self._found[self._last] = name, tries - 1


class NoStepError(UserError):
    """A trajectory in which no agent does anything."""


@contextlib.contextmanager
def counted(left_out: LeftOut, tries: Tries) -> Iterator[None]:
    """Of a trajectory among many: one without steps, or of which an image is not there, is left out."""
    already = tries.count
    try:
        yield
    except (NoStepError, NoImageError) as error:
        if tries.count > already:
            tries.forget()
        is_missing = isinstance(error, NoImageError)
        lacks = "of which an image is not there" if is_missing else "without a step of an agent"
        left_out.leave_out(f"trajectories {lacks}", error, is_missing)


def write_folder(where: str, out_dir: Path, read: ForeignTrajectory) -> None:
    """`out_dir/task<ID>--run<run>`.

    Raises:
        UserError: it has no step, an image does not decode, or a number is NaN or infinite.
    """
    if not read.steps:
        raise NoStepError(f"{where}: holds no step of an agent")
    source = {"source": where, "policy": read.project}
    source |= {} if read.space == NUMBERS else {"action_space": read.space}
    prompt = "" if read.space == NUMBERS else action_space(read.space).prompt()
    writer = TrajectoryWriter(out_dir / folder_name(read.task.id, read.run), read.task, source, prompt, read.run)
    try:
        for number, step in enumerate(read.steps, start=1):
            tree, reply, url, feedback = map(writable, (step.tree, step.reply, step.url, step.feedback))
            check_numbers(
                f"{where}, step {number}", [step.actions, *step.boxes.values()] if step.boxes else step.actions
            )
            writer.write_observation(number, tree, None, png_of(f"{where}, step {number}", step.image), step.boxes)
            if step.html:
                (writer.folder / f"html{number}.txt").write_text(writable(step.html), encoding="utf-8")
            kept: dict[str, Any] = {"feedback": feedback, "shown": step.shown, "actions": step.actions}
            writer.add_step(TrajectoryStep(number, url=url, reply=reply, **kept), tree)
        answer = None if read.answer is None else writable(read.answer)
        writer.finish(FINISHED if answer is not None else MAX_STEPS, answer)
    finally:
        writer.close()
    if read.outcome:
        write_outcome(writer.folder, read.outcome)


def by_rewards(where: str, project: str, rewards: Sequence[Any], judge_said: Any = None) -> Outcome:
    """What a project's rewards say; its judge is called as the project in small letters.

    Raises:
        UserError: there is no reward (None stands for what is not there), or one is no finite number.
    """
    raw = judge_said if isinstance(judge_said, str) else ""
    return Outcome(_verdict(where, rewards), judge=project.lower(), raw=raw)


def _verdict(where: str, rewards: Sequence[Any]) -> Verdict:
    found = [plain(reward) for reward in rewards if reward is not None]
    if not found:
        raise UserError(f"{where}: has no reward, which would say whether it succeeded")
    if not all(isinstance(reward, int | float) and math.isfinite(reward) for reward in found):
        raise UserError(f"{where}: a reward is not a finite number")
    return Verdict.SUCCESS if sum(found) > 0 else Verdict.FAILURE


def png_of(where: str, image: Path | bytes | None) -> bytes:
    """The picture as a PNG, a blank one for None; `UserError` where it does not decode."""
    if image is None:
        return _blank()
    content = image.read_bytes() if isinstance(image, Path) else image
    try:
        buffer = io.BytesIO()
        if image_type(content) == "png":
            check_encoded(content)
            return content
        decoded(content).save(buffer, "PNG")
        return buffer.getvalue()
    except (UserError, OSError, ValueError) as error:
        named = f"{image}: " if isinstance(image, Path) else ""
        raise UserError(f"{where}: {named}{error}") from None


@functools.cache
def _blank() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), "white").save(buffer, "PNG")
    return buffer.getvalue()
