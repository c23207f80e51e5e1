"""PAE's trajectories of web episodes (`train_trajectories.pt`, `evaluate_trajectories.pt`), as trajectory folders.

Its observation is a screenshot with set-of-marks labels and their text (`button`), which stands where the
accessibility tree stands. The task is WebVoyager's opening, `Now given a task: ...  Please interact with ...`.
"""

import io
import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action import ActionError, Answer, parse_reply
from data.images import opened
from data.outcome import Outcome, Verdict
from data.shard import image_type
from data.task import Task
from data.trajectory import FINISHED, MAX_STEPS, TrajectoryStep, TrajectoryWriter, folder_name, write_outcome
from toolkits.readers.steps import find_image, read_trajectory_list, text_field
from toolkits.torch_file import plain

JUDGE = "pae"
_OPENING = re.compile(r"Now given a task:(.+?)Please interact with (\S+)", re.DOTALL)


def import_pae(path: Path, image_dir: Path, out_dir: Path, first: int = 1) -> int:
    """Write `out_dir/task<web_name>--<number>`, counting from `first`, for every trajectory that has steps; returns how
    many.

    Raises:
        UserError: naming file, trajectory and step.
    """
    count = 0
    for number, steps in enumerate(read_trajectory_list(path), start=1):
        if steps:  # PAE keeps an empty list where its environment failed
            _write(f"{path}: trajectory {number}", first + count, steps, image_dir, out_dir)
            count += 1
    return count


def _write(where: str, number: int, steps: list[dict[str, Any]], image_dir: Path, out_dir: Path) -> None:
    task = _task(where, number, steps[0])
    source = {"source": where, "policy": "PAE"}
    writer = TrajectoryWriter(out_dir / folder_name(task.id), task, provenance=source, system_prompt="")
    try:
        for index, step in enumerate(steps, start=1):
            place = f"{where}, step {index}"
            tree = text_field(place, step, "observation", "button")
            name = find_image(place, image_dir, text_field(place, step, "observation", "image"))
            writer.write_observation(index, tree, None, _png(place, image_dir / name))
            writer.add_step(TrajectoryStep(index, url="", reply=text_field(place, step, "action")), tree)
        answer = _answer(steps[-1]["action"])
        writer.finish(FINISHED if answer is not None else MAX_STEPS, answer)
    finally:
        writer.close()
    write_outcome(writer.folder, _outcome(where, steps))


def _task(where: str, number: int, step: dict[str, Any]) -> Task:
    opening = text_field(f"{where}, step 1", step, "observation", "task")
    found = _OPENING.search(opening)
    ques, web = (found[1].strip(), found[2]) if found else (opening.strip(), "")
    name = step["observation"].get("web_name", "PAE")
    if not isinstance(name, str) or not re.fullmatch(r"[\w .()-]+", name):
        raise UserError(f"{where}: its web_name {name!r} is not a plain name")
    return Task(id=f"{name}--{number}", ques=ques, web=web)


def _png(where: str, path: Path) -> bytes:
    content = path.read_bytes()
    try:
        if image_type(content) == "png":
            return content
        buffer = io.BytesIO()
        with opened(io.BytesIO(content)) as image:
            image.save(buffer, "PNG")
        return buffer.getvalue()
    except (UserError, OSError, ValueError) as error:
        raise UserError(f"{where}: {path}: {error}") from None


def _answer(reply: str) -> str | None:
    try:
        action = parse_reply(reply).action
    except ActionError:
        return None
    return action.content if isinstance(action, Answer) else None


def _outcome(where: str, steps: list[dict[str, Any]]) -> Outcome:
    """PAE's judge speaks once, through the rewards."""
    rewards = [plain(step.get("reward", 0)) for step in steps]
    if not all(isinstance(reward, int | float) for reward in rewards):
        raise UserError(f"{where}: a reward is not a number")
    raw = steps[-1].get("eval_info")
    verdict = Verdict.SUCCESS if sum(rewards) > 0 else Verdict.FAILURE
    return Outcome(verdict, judge=JUDGE, raw=raw if isinstance(raw, str) else "")
