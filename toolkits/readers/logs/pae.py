"""PAE's trajectories of web episodes (`train_trajectories.pt`, `evaluate_trajectories.pt`), as trajectory folders.

Its observation is a screenshot with set-of-marks labels and their text (`button`), which stands where the
accessibility tree stands. The task is WebVoyager's opening, `Now given a task: ...  Please interact with ...`.
"""

import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.trajectory import answer_of
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, by_rewards, write_folder
from toolkits.readers.reading.steps import find_image, read_trajectory_list, text_field

_OPENING = re.compile(r"Now given a task:(.+?)Please interact with (\S+)", re.DOTALL)


def import_pae(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write `out_dir/task<web_name>--<number>--run<try>` for every trajectory that has steps.

    Raises:
        UserError: naming file, trajectory and step.
    """
    for number, steps in enumerate(read_trajectory_list(path), start=1):
        if steps:  # PAE keeps an empty list where its environment failed
            _write(f"{path}: trajectory {number}", tries, steps, image_dir, out_dir)


def _write(where: str, tries: Tries, steps: list[dict[str, Any]], image_dir: Path, out_dir: Path) -> None:
    read = []
    for index, step in enumerate(steps, start=1):
        place = f"{where}, step {index}"
        tree = text_field(place, step, "observation", "button")
        name = find_image(place, image_dir, text_field(place, step, "observation", "image"))
        read.append(ForeignStep(tree, text_field(place, step, "action"), image_dir / name))
    said = steps[-1].get("eval_info")
    rewards = [step.get("reward") for step in steps]
    outcome = by_rewards(where, "PAE", rewards, said)
    task, run = tries.add(*_task(where, steps[0]))
    write_folder(where, out_dir, ForeignTrajectory(task, run, "PAE", read, answer_of(read[-1].reply), outcome))


def _task(where: str, step: dict[str, Any]) -> tuple[str, str, str]:
    """Its website's name, words and address."""
    opening = text_field(f"{where}, step 1", step, "observation", "task")
    found = _OPENING.search(opening)
    ques, web = (found[1].strip(), found[2]) if found else (opening.strip(), "")
    name = step["observation"].get("web_name", "PAE")
    if not isinstance(name, str) or not re.fullmatch(r"[\w .()-]+", name):
        raise UserError(f"{where}: its web_name {name!r} is not a plain name")
    return name, ques, web
