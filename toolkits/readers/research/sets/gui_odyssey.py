"""GUI-Odyssey (OpenGVLab/GUI-Odyssey: `annotations/*.json`, a file an episode, and `screenshots/`), as episodes.

Fields as the repository's introduction.md lists them; points are thousandths of the screen. A `SCROLL` tells where the
finger came from and went. `sam2_bbox` and `low_level_instruction` of the second version are kept where they are there.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data.actions.action import Answer, GoBack
from data.actions.point_action import AnyAction, ClickAt, Write
from data.actions.screen import REL1000, Screen
from toolkits.readers.reading.steps import find_image, objects_in, text_field, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.episodes import (
    HOME,
    Episode,
    EpisodeStep,
    UnsaidError,
    if_whole,
    long_press,
    only_box,
    point_at,
    step_of,
    swipe,
    words,
)

_ENDS = {"COMPLETE": "success", "IMPOSSIBLE": "failure", "INCOMPLETE": "failure"}
_BACK, _HOME = ("KEY_BACK", "BACK"), ("KEY_HOME", "HOME")


def read_gui_odyssey(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every file.

    Raises:
        UserError: naming file and step.
    """
    for path in paths:
        for where, episode in stream_objects(path):
            yield if_whole(where, partial(_episode, where, episode, image_dir))


def _episode(where: str, episode: dict[str, Any], image_dir: Path) -> Episode:
    listed = objects_in(f"{where}: steps", episode.get("steps"))
    steps = [_step(f"{where}, step {count}", step, image_dir) for count, step in enumerate(listed, start=1)]
    ques = text_field(where, episode, "task_info", "instruction")
    device = episode.get("device_info")
    web = text_of(device.get("device_name")) if isinstance(device, dict) else ""
    last = text_of(listed[-1].get("action")) if listed else ""
    return Episode(where, ques, web or "android", steps, {"success": True, "failure": False}.get(_ENDS.get(last, "")))


def _step(where: str, step: Mapping[str, Any], image_dir: Path) -> EpisodeStep:
    image = image_dir / find_image(where, image_dir, text_field(where, dict(step), "screenshot"))
    box = only_box(where, image, REL1000, step.get("sam2_bbox") or None)
    return step_of(
        *(where, image, lambda screen: _actions(screen, text_of(step.get("action")), step.get("info"))),
        scale=REL1000,
        thought=text_of(step.get("low_level_instruction")),
        **box,
    )


def _actions(screen: Screen, kind: str, info: Any) -> list[AnyAction]:
    if kind in _ENDS:
        return [Answer(_ENDS[kind])]
    if kind in _BACK or info in _BACK:
        return [GoBack()]
    if kind in _HOME or info in _HOME:
        return [HOME]
    if isinstance(info, str) and info.startswith("KEY_"):
        raise UnsaidError(info)
    match kind:
        case "CLICK":
            [(x, y)] = info
            return [ClickAt(point_at(REL1000, screen, x, y))]
        case "LONG_PRESS":
            [(x, y)] = info
            return [long_press(point_at(REL1000, screen, x, y))]
        case "SCROLL":
            (x, y), (end_x, end_y) = info
            return [swipe(point_at(REL1000, screen, x, y), point_at(REL1000, screen, end_x, end_y))]
        case "TYPE" | "TEXT":
            return [Write(words(info))]
        case _:
            raise UnsaidError(kind)
