"""Android in the Wild (AITW), as episodes: its TFRecords, and the JSON that SeeClick made of them.

    TFRecords  a step a record, gzipped; fields as google-research/android_in_the_wild/README.md lists them. Screenshots
               are raw RGB; the steps of an episode follow each other
    JSON       {"general": [[step, ...], ...], ...}; a step has `goal`, `img_filename`, `action_type_id`, `touch` and
               `lift` as shares of the screen, `type_text` (njucckevin/SeeClick, agent_tasks/aitw_process.py)

A finger that moves at most 0.04 of the screen clicks, as their `is_tap_action` has it; else the page is scrolled by the
way that it went. Neither says whether an episode succeeded, but by its last action.
"""

import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from data.actions.action import Answer, GoBack
from data.actions.point_action import AnyAction, ClickAt, Press, Write
from data.actions.screen import REL1, Screen
from data.images import MAX_PIXELS
from toolkits.readers.reading.steps import find_image, objects_in, text_field, text_of
from toolkits.readers.research.encodings.tfrecord import Feature, read_examples, texts
from toolkits.readers.research.episodes import (
    HOME,
    Episode,
    EpisodeStep,
    NoTaskError,
    UnsaidError,
    if_whole,
    lost,
    number,
    point_at,
    step_of,
    swipe,
    words,
)

_TAP = 0.04
_COMPLETE = 10  # their number of an action type; those of the others stand below


def read_aitw(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every one of theirs.

    Raises:
        UserError: naming file, episode and step.
    """
    for path in paths:
        yield from _of_json(path, image_dir) if path.suffix == ".json" else _of_records(path)


def _of_json(path: Path, image_dir: Path) -> Iterator[Episode]:
    for kind, episodes in read_object(path).items():
        if not isinstance(episodes, list):
            raise UserError(f"{path}: {kind}: not a list of episodes")
        for place, episode in enumerate(episodes, start=1):
            where = f"{path}: {kind}, episode {place}"
            yield if_whole(where, partial(_json_episode, where, episode, image_dir))


def _json_episode(where: str, episode: Any, image_dir: Path) -> Episode:
    listed = objects_in(where, episode)
    if not listed:
        return lost(where, "episodes without steps")
    steps = [_json_step(f"{where}, step {count}", step, image_dir) for count, step in enumerate(listed, start=1)]
    return _episode(where, text_field(where, listed[0], "goal"), steps)


def _json_step(where: str, step: Mapping[str, Any], image_dir: Path) -> EpisodeStep:
    name = text_field(where, dict(step), "img_filename")
    image = image_dir / find_image(where, image_dir, name if Path(name).suffix in (".png", ".jpg") else f"{name}.png")
    act = lambda screen: _actions(  # noqa: E731 - of this step
        *(screen, step["action_type_id"], step.get("touch"), step.get("lift"), step.get("type_text"))
    )
    return step_of(where, image, act, scale=REL1)


def _of_records(path: Path) -> Iterator[Episode]:
    examples = (
        (where, features, "".join(texts(where, features, "episode_id"))) for where, features in read_examples(path)
    )
    for _, steps in itertools.groupby(examples, key=lambda one: one[2]):
        read, goal, begin = [], "", ""
        for where, features, name in steps:
            if not name:
                raise UserError(f"{where}: has no episode_id")
            read.append(_step(where, features))  # raw screenshots are large, so one at a time
            begin, goal = begin or where, goal or "".join(texts(where, dict(features), "goal_info"))
        yield if_whole(begin, partial(_episode, begin, goal, read))


def _step(where: str, features: Mapping[str, Feature]) -> EpisodeStep:
    def one(name: str) -> Any:
        values = features.get(name) or [None]
        return values[0]

    touch, lift = (list(reversed(features.get(f"results/yx_{name}", []))) for name in ("touch", "lift"))
    typed = "".join(texts(where, dict(features), "results/type_action"))
    act = lambda screen: _actions(screen, one("results/action_type"), touch, lift, typed)  # noqa: E731 - of this step
    return step_of(
        where, _png(where, *(one(f"image/{name}") for name in ("encoded", "width", "height"))), act, scale=REL1
    )


def _png(where: str, raw: Any, width: Any, height: Any) -> bytes:
    """Of raw RGB."""
    from PIL import Image  # imported here: JSON does without

    is_whole = isinstance(raw, bytes) and isinstance(width, int) and isinstance(height, int)
    if not is_whole or not 0 < width * height <= MAX_PIXELS or len(raw) != width * height * 3:
        raise UserError(f"{where}: its image is not raw RGB of its width and height")
    buffer = io.BytesIO()
    Image.frombytes("RGB", (width, height), raw).save(buffer, "PNG")
    return buffer.getvalue()


def _actions(screen: Screen, kind: Any, touch: Any, lift: Any, typed: Any) -> list[AnyAction]:
    match kind:
        case 3:
            return [Write(words(typed))]
        case 4:
            (x, y), (end_x, end_y) = touch, lift
            start, end = point_at(REL1, screen, x, y), point_at(REL1, screen, end_x, end_y)
            is_tap = math.dist((number(x), number(y)), (number(end_x), number(end_y))) <= _TAP
            return [ClickAt(start) if is_tap else swipe(start, end)]
        case 5:
            return [GoBack()]
        case 6:
            return [HOME]
        case 7:
            return [Press(("Enter",))]
        case 10 | 11:
            return [Answer("success" if kind == _COMPLETE else "failure")]
        case _:
            raise UnsaidError(f"action type {text_of(kind) or kind}")


def _episode(where: str, goal: str, steps: list[EpisodeStep]) -> Episode:
    if not goal:
        raise NoTaskError(f"{where}: says no goal")
    ends = [action.content for action in steps[-1].actions if isinstance(action, Answer)]
    return Episode(where, goal, "android", steps, ends[-1] == "success" if ends else None)
