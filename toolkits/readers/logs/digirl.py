"""DigiRL's and Digi-Q's trajectories of Android episodes (`*.pt`), as samples with their rewards, or as folders.

DigiRL's `image_path` is the screenshot *after* the step, so a step shows the one of the step before, and the first step
of an episode, whose screenshot is not in the file, is left out. Digi-Q's is the screenshot
before the step, with the one after it in `next_image_path`.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.trajectory import answer_of
from toolkits.readers.logs.features import Kept, actions_of, stored_step
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, by_rewards, write_folder
from toolkits.readers.reading.steps import (
    enumerate_steps,
    find_image,
    read_trajectory_list,
    record,
    rewarded,
    sample_id,
    text_field,
)


def read_digirl(path: Path, image_dir: Path, round_id: int, kept: Kept | None = None) -> Iterator[dict[str, Any]]:
    """One sample a step: the observation text with its screenshot, and the raw action. `kept` receives the rest."""
    unseen = 0
    for where, number, index, trajectory in enumerate_steps(path):
        step = trajectory[index - 1]
        image = _image(where, image_dir, trajectory, index)
        if image is None:
            unseen += 1
            continue
        turns = (f"<image>\n{_observation(where, step)}", text_field(where, step, "action"))
        identifier = sample_id(path.stem, number, round_id, index)
        listed = {"action_list": actions_of(where, step)} if "action_list" in step else {}
        made = record(identifier, [image], turns, rewarded(where, {**step, **listed}, identifier))
        if kept is not None:
            kept.add(stored_step(where, step, made))
            if "candidates" in kept.wanted:
                made.pop("action_list", None)  # each candidate's sample would repeat it
        yield made
    _tell(path, unseen, "first steps")


def import_digirl(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write `out_dir/task<file>--<number>--run<try>` for every trajectory that has such steps.

    Raises:
        UserError: naming file, trajectory and step.
    """
    unseen = 0
    for number, trajectory in enumerate(read_trajectory_list(path), start=1):
        where, steps = f"{path}: trajectory {number}", []
        for index, step in enumerate(trajectory, start=1):
            place = f"{where}, step {index}"
            image = _image(place, image_dir, trajectory, index)
            if image is not None:
                reply = text_field(place, step, "action")
                steps.append(ForeignStep(_observation(place, step), reply, image_dir / image))
        if not steps:
            unseen += 1
            continue
        ques = trajectory[0].get("task") or steps[0].tree.rpartition("Goal: ")[2]
        task, run = tries.add(path.stem, text_field(where, {"task": ques}, "task"), "android")
        rewards = [trajectory[-1].get("trajectory_reward"), *(step.get("reward") for step in trajectory)]
        outcome = by_rewards(where, "DigiRL", rewards)
        answer = answer_of(steps[-1].reply)
        write_folder(where, out_dir, ForeignTrajectory(task, run, "DigiRL", steps, answer, outcome))
    _tell(path, unseen, "trajectories of one step or none")


def _tell(path: Path, unseen: int, what: str) -> None:
    if unseen:
        print(f"{path}: left out {unseen} {what}, whose screenshots are not in the file", file=sys.stderr)


def _image(where: str, image_dir: Path, trajectory: list[dict[str, Any]], index: int) -> str | None:
    """That which step `index` was taken on; None where the file has none."""
    step = trajectory[index - 1]
    shown = step if "next_image_path" in step else trajectory[index - 2] if index > 1 else None
    return None if shown is None else find_image(where, image_dir, text_field(where, shown, "image_path"))


def _observation(where: str, step: dict[str, Any]) -> str:
    return text_field(where, step, "observation").removesuffix("</s>")


_POINT = re.compile(r'"(?:touch|lift)_point": "\[(-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)\]"')


def points_of(action: str) -> list[list[float]]:
    """[x, y], as shares of the screen's width and height, of where a raw action touches it and leaves it; [] for one
    that does not. Actions write y first, and -1 where there is no point."""
    points = [[float(x), float(y)] for y, x in _POINT.findall(action)[:2]]
    return points if all(0 <= share <= 1 for point in points for share in point) else []
