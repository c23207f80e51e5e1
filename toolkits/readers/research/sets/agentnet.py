"""AgentNet, OpenCUA's demonstrations (xlangai/AgentNet on Hugging Face: JSON lines, a task each), as episodes.

Layout as its dataset card shows it: `traj` of `image` and `value`, whose `code` is pyautogui's with points as shares of
the screen. `thought` and `action` are what was thought. `task_completed` says whether it succeeded.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.actions.screen import REL1
from toolkits.readers.reading.steps import find_image, objects_in, text_field, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.encodings.pyautogui_code import actions_in
from toolkits.readers.research.episodes import Episode, EpisodeStep, if_whole, step_of


def read_agentnet(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every task.

    Raises:
        UserError: naming file, task and step.
    """
    for path in paths:
        for where, task in stream_objects(path):
            yield if_whole(where, partial(_episode, where, task, image_dir))


def _episode(where: str, task: dict[str, Any], image_dir: Path) -> Episode:
    steps = objects_in(f"{where}: traj", task.get("traj"))
    read = [_step(f"{where}, step {place}", step, image_dir) for place, step in enumerate(steps, start=1)]
    done = task.get("task_completed")
    if done is not None and not isinstance(done, bool):
        raise UserError(f"{where}: its task_completed is neither true nor false")
    ques = text_of(task.get("natural_language_task")) or text_field(where, task, "instruction")
    return Episode(where, ques, text_of(task.get("domain")) or "desktop", read, done)


def _step(where: str, step: dict[str, Any], image_dir: Path) -> EpisodeStep:
    code = text_field(where, step, "value", "code")
    image = image_dir / find_image(where, image_dir, text_field(where, step, "image"))
    said = (text_of(step["value"].get(name)).strip() for name in ("thought", "action"))
    act = lambda screen: actions_in(code, screen)  # noqa: E731 - of this code
    return step_of(where, image, act, scale=REL1, thought="\n".join(filter(None, said)))
