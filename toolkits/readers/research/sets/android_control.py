"""AndroidControl (google-research/android_control: gzipped TFRecords, an episode a record), as episodes.

Fields as its README lists them. JSON with the same fields is read as well; `screenshots` are then names of files. What
an action was done for (`step_instructions`) is its thought. The accessibility trees (serialized forests of
android_env/proto/a11y) give the numbered elements and their boxes. The last screenshot shows the end, where nothing is
done. Some of its episodes have no action, and are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.actions.action import GoBack, Wait
from data.actions.point_action import AnyAction, ClickAt, Press, Write
from data.actions.screen import PX, Point, Screen
from toolkits.readers.reading.steps import NoImageError, find_image, objects_in
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.encodings.android_trees import AndroidPage, page_of
from toolkits.readers.research.encodings.tfrecord import read_examples, texts
from toolkits.readers.research.episodes import (
    HOME,
    Episode,
    EpisodeStep,
    NoTaskError,
    UnsaidError,
    if_whole,
    long_press,
    open_app,
    point_at,
    scroll_towards,
    step_of,
    words,
)

_SCROLLED = 2 / 3  # of the screen; the set does not say how far


def read_android_control(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every record.

    Raises:
        UserError: naming file, record and step.
    """
    for path in paths:
        if path.suffix in (".json", ".jsonl"):
            for where, episode in stream_objects(path):
                yield if_whole(where, partial(_of_json, where, episode, image_dir))
            continue
        for where, features in read_examples(path):
            images = [image for image in features.get("screenshots", []) if isinstance(image, bytes)]
            actions = [_object(where, text) for text in texts(where, features, "actions")]
            said = texts(where, features, "step_instructions")
            pages = [page_of(where, tree) for tree in features.get("accessibility_trees", [])]
            goal = "".join(texts(where, features, "goal"))
            yield if_whole(where, partial(_episode, where, goal, images, actions, said, pages))


def _of_json(where: str, episode: Mapping[str, Any], image_dir: Path) -> Episode:
    names, said = episode.get("screenshots", episode.get("images")), episode.get("step_instructions") or []
    for name, values in (("screenshots", names), ("step_instructions", said)):
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise UserError(f"{where}: its {name} are not texts")
    listed = episode.get("actions")
    actions = [_object(where, one) for one in listed] if isinstance(listed, list) else []
    images = [image_dir / find_image(where, image_dir, name) for name in names]
    return _episode(where, episode.get("goal"), images, actions, said, [])


def _object(where: str, said: Any) -> dict[str, Any]:
    try:
        return objects_in(f"{where}: actions", [parse_json(said) if isinstance(said, str) else said])[0]
    except ValueError:
        raise UserError(f"{where}: an action is no JSON") from None


def _episode(
    where: str,
    goal: Any,
    images: Sequence[Path | bytes],
    actions: Sequence[dict[str, Any]],
    said: Sequence[str],
    pages: Sequence[AndroidPage],
) -> Episode:
    if not isinstance(goal, str) or not goal:
        raise NoTaskError(f"{where}: says no goal")
    if len(images) < len(actions):
        raise NoImageError(f"{where}: a screenshot before each action is not there")
    steps = []
    for number, action in enumerate(actions):
        page = pages[number] if number < len(pages) else AndroidPage()
        thought = said[number] if number < len(said) else ""
        steps.append(_step(f"{where}, step {number + 1}", images[number], action, thought, page))
    return Episode(where, goal, "android", steps)


def _step(where: str, image: Path | bytes, action: dict[str, Any], thought: str, page: AndroidPage) -> EpisodeStep:
    act = lambda screen: android_actions(screen, action)  # noqa: E731 - of this action
    return step_of(where, image, act, scale=PX, thought=thought, tree=page.tree, boxes=page.boxes)


def android_actions(screen: Screen, action: Mapping[str, Any]) -> list[AnyAction]:
    """Of an action in AndroidControl's words; `UnsaidError` for those that we have not, KeyError or TypeError for one
    without its numbers or text."""

    def at() -> Point:
        return point_at(PX, screen, action["x"], action["y"])

    match action["action_type"]:
        case "click":
            return [ClickAt(at())]
        case "long_press":
            return [long_press(at())]
        case "type":
            return [Write(words(action["text"]), at(), enter=True)]
        case "input_text":
            return [Write(words(action["text"]))]
        case "scroll":
            return [scroll_towards(screen, action["direction"], _SCROLLED)]
        case "navigate_back":
            return [GoBack()]
        case "navigate_home":
            return [HOME]
        case "open_app":
            return [open_app(action["app_name"])]
        case "keyboard_enter":
            return [Press(("Enter",))]
        case "wait":
            return [Wait()]
        case _:
            raise UnsaidError(str(action["action_type"]))
