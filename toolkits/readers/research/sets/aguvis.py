"""AGUVIS' stages 1 and 2 (xlangai/aguvis-stage1, -stage2: a JSON list of `image` and `conversations`), as episodes.

Layout: the loader and `src/aguvis/constants.py` of xlang-ai/aguvis. Stage 1 pairs what to find with a call, any number
of pairs on a screenshot (in `seeclick_mi` on as many), and gives an episode of one step for each. A record of stage 2
is a step: `Instruction:` and `Previous actions:`, then what the agent thought (to `all`) and its call (to `os`); those
whose images are numbered alike are an episode, and what came before its first one is feedback. GUI-Actor's JSON, with
a `bbox_gt` beside the call, is read as well.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.actions.screen import REL1
from data.conversation import IMAGE
from toolkits.readers.reading.steps import find_image, objects_in, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.encodings.pyautogui_code import actions_in
from toolkits.readers.research.episodes import Episode, EpisodeStep, if_whole, only_box, step_of

_TASK = re.compile(r"Instruction:\s*(.+?)\s*Previous actions:", re.DOTALL)
_NUMBERED = re.compile(r"(.+?)[_/](?:step_?|screenshot_?)?(\d{1,9})\.\w+(?:\.\w+)?")
Turn = dict[str, Any]
_Told = tuple[int, str, str, list[Turn]]
"""A step: its number, where it stands, its image and turns."""


def read_aguvis(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """Episodes of one step as they come; whole ones once their file is read.

    Raises:
        UserError: naming file and record.
    """
    for path in paths:
        whole: dict[tuple[str, str], list[_Told]] = {}
        for where, record in stream_objects(path):
            turns = objects_in(f"{where}: conversations", record.get("conversations"))
            names = _names(where, record.get("image"))
            asked = next((text_of(turn.get("value")) for turn in turns if _is_human(turn)), "")
            if task := _TASK.search(asked):
                found = _NUMBERED.fullmatch(names[0])
                head, number = (found[1], int(found[2])) if found else (names[0], 0)
                whole.setdefault((head, task[1]), []).append((number, where, names[0], turns))
            else:
                yield from _pairs(where, turns, names, image_dir)
        for (head, task), steps in whole.items():
            steps.sort(key=lambda step: step[0])
            yield if_whole(steps[0][1], partial(_whole, head, task, steps, image_dir))


def _whole(head: str, task: str, steps: list[_Told], image_dir: Path) -> Episode:
    read = [_step(where, turns, image_dir / find_image(where, image_dir, name)) for _, where, name, turns in steps]
    read[0] = dataclasses.replace(read[0], feedback=_before(steps[0][3]))
    return Episode(steps[0][1], task, head, read)


def _before(turns: list[Turn]) -> str:
    """What was done before the first step that is there, as its question lists it."""
    asked = next(text_of(turn.get("value")) for turn in turns if _is_human(turn))
    done = asked.partition("Previous actions:")[2].strip()
    return "" if done.rstrip(".;").lower() in ("", "none") else f"Previous actions:\n{done}"


def _names(where: str, image: Any) -> list[str]:
    names = image if isinstance(image, list) else [image]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise UserError(f"{where}: its image is no name")
    return names


def _is_human(turn: Turn) -> bool:
    return turn.get("from") in ("human", "user")


def _pairs(where: str, turns: list[Turn], names: list[str], image_dir: Path) -> Iterator[Episode]:
    pairs = [pair for pair in itertools.pairwise(turns) if _is_human(pair[0]) and not _is_human(pair[1])]
    if not pairs or (len(names) > 1 and len(names) != len(pairs)):
        raise UserError(f"{where}: {len(pairs)} questions with an answer on {len(names)} images")
    for number, (asked, answer) in enumerate(pairs):
        name = names[number if len(names) > 1 else 0]
        place = f"{where}, pair {number + 1}"
        ques = text_of(asked.get("value")).replace(IMAGE, "").strip()
        yield if_whole(place, partial(_pair, place, ques, name, answer, image_dir))


def _pair(where: str, ques: str, name: str, answer: Turn, image_dir: Path) -> Episode:
    image = image_dir / find_image(where, image_dir, name)
    return Episode(where, ques or "?", name, [_step(where, [answer], image)])


def _step(where: str, turns: list[Turn], image: Path) -> EpisodeStep:
    said = [turn for turn in turns if turn.get("from") in ("gpt", "assistant")]
    if not said:
        raise UserError(f"{where}: nobody answers")
    code = text_of(said[-1].get("value"))
    thought = "\n".join(text_of(turn.get("value")) for turn in said[:-1])
    box = only_box(where, image, REL1, said[-1].get("bbox_gt"))
    return step_of(where, image, lambda screen: actions_in(code, screen), scale=REL1, thought=thought, **box)
