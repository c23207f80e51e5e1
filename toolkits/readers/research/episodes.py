"""What the field's sets of demonstrations have in common: episodes of steps, each a screenshot and what was done there
in our canonical actions (`data/actions/point_action.py`, `data/actions/action.py`).

A screenshot's pixels are its CSS pixels. What a set says and no canonical action does is kept as its kind (`unsaid`),
so that whoever writes the episodes can count it.
"""

import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action_spaces.androidworld import APP
from data.actions.action import ActionError, Restart
from data.actions.keys import press
from data.actions.point_action import AnyAction, DragAt, GoTo, ScrollAt
from data.actions.screen import PX, Point, Scale, Screen, Size
from data.images import opened, size_of
from toolkits.readers.reading.steps import NoImageError

OUTSIDE = "a point outside of its screenshot"
NO_SCREENSHOT = "episodes of which a screenshot is not there"
NO_TASK = "episodes without a task, or without an action"
HOME = Restart()
"""A phone's home button."""
_NO_KEY = "a key that browsers do not have"


class UnsaidError(ValueError):
    """A set's action that no canonical one says; its kind, as people are told of it."""


@dataclasses.dataclass(frozen=True)
class EpisodeStep:
    """A screenshot (its file or bytes), and what was done there.

    Args:
        scale: what the numbers of the set count.
        boxes: of the page's elements by label, [x, y, width, height] in pixels of the screenshot; their roles and names
            stand in `tree`, as accessibility trees have them.
        element: the label of the element that the actions are on, where the set says so.
        feedback: what was told beside the page.
        unsaid: the kind of what no canonical action says; there are none then, and the step is left out.
    """

    image: Path | bytes
    screen: Screen
    actions: tuple[AnyAction, ...]
    scale: Scale = PX
    thought: str = ""
    tree: str = ""
    boxes: Mapping[int, Sequence[float]] = dataclasses.field(default_factory=dict)
    element: int | None = None
    url: str = ""
    html: str = ""
    feedback: str = ""
    unsaid: str = ""


@dataclasses.dataclass(frozen=True)
class Episode:
    """One task, step by step; `web` is where it is done, `succeeded` None where nobody said so. `lost` is what the set
    tells and no step holds: how much of each kind. A set of grounding tells of its one element the `platform` that it
    is on and its `kind`, `text` or `icon`."""

    where: str
    ques: str
    web: str
    steps: Sequence[EpisodeStep]
    succeeded: bool | None = True
    lost: Mapping[str, int] = dataclasses.field(default_factory=dict)
    platform: str = ""
    kind: str = ""


class NoTaskError(UserError):
    """An episode that says no task, or in which nothing is done."""


def if_whole(where: str, read: Callable[[], Episode]) -> Episode:
    """What `read` gives; without steps where a screenshot, the task or all actions of it are not there, so that the
    others are read."""
    try:
        return read()
    except NoTaskError as error:
        return lost(str(error), NO_TASK)
    except NoImageError as error:
        return lost(str(error), NO_SCREENSHOT)


def lost(where: str, kind: str) -> Episode:
    """One of which nothing can be read."""
    return Episode(where, "", "", (), None, {kind: 1})


Act = Callable[[Screen], Sequence[AnyAction]]


def step_of(where: str, image: Path | bytes, act: Act, **rest: Any) -> EpisodeStep:
    """What `act` makes of the screen.

    Raises:
        UserError: naming the step, when its screenshot is none, or the action lacks its numbers or text.
    """
    screen = screen_of(where, image)
    try:
        return EpisodeStep(image, screen, tuple(act(screen)), **rest)
    except UnsaidError as error:
        return EpisodeStep(image, screen, (), unsaid=str(error), **rest)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UserError(f"{where}: an action without its numbers or text ({type(error).__name__})") from None


def screen_of(where: str, image: Path | bytes) -> Screen:
    """The size of a screenshot as it is shown; `UserError` where it is no image."""
    try:
        with opened(io.BytesIO(image) if isinstance(image, bytes) else image) as picture:
            height, width = size_of(picture)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return Screen((width, height), (width, height))


def point_at(scale: Scale, screen: Screen, x: Any, y: Any) -> Point:
    """A point of a set; `UnsaidError` where it lies outside, TypeError where it is none."""
    numbers = [number(x), number(y)]
    try:
        return scale.point(screen, numbers)
    except ActionError:
        raise UnsaidError(OUTSIDE) from None


def box_center(scale: Scale, screen: Screen, box: Sequence[Any]) -> Point:
    """Of [left, top, right, bottom]; as `point_at`."""
    left, top, right, bottom = map(number, box)
    return point_at(scale, screen, (left + right) / 2, (top + bottom) / 2)


def only_box(where: str, image: Path | bytes, scale: Scale, box: Any) -> dict[str, Any]:
    """`boxes` and `element` of a step whose set tells [left, top, right, bottom] of its element alone; {} for None.

    Raises:
        UserError: it is no box, or the screenshot no image.
    """
    if box is None:
        return {}
    screen = screen_of(where, image)
    (across, down), (width, height) = scale.size(screen), screen.screenshot
    try:
        left, top, right, bottom = map(number, box)
    except (TypeError, ValueError):
        raise UserError(f"{where}: its box is not four numbers") from None
    sides = (left / across * width, top / down * height)
    return {"boxes": {2: [*sides, (right - left) / across * width, (bottom - top) / down * height]}, "element": 2}


def size_told(width: Any, height: Any) -> Size | None:
    """Of a screen, as a set tells it; None where it does not."""
    return (width, height) if type(width) is type(height) is int and width > 0 and height > 0 else None


def swipe(start: Point, end: Point) -> ScrollAt:
    """A finger moves the page with it: what is scrolled goes the other way, along the axis of the longer part."""
    right, down = start.x - end.x, start.y - end.y
    return ScrollAt(right, 0, start) if abs(right) > abs(down) else ScrollAt(0, down, start)


def long_press(at: Point) -> DragAt:
    """A finger that rests where it touches."""
    return DragAt(at, at)


def open_app(name: Any) -> GoTo:
    """By its name; TypeError where that is no text."""
    if not isinstance(name, str):
        raise TypeError("a name that is none")
    return GoTo(APP + name)


def scroll_towards(screen: Screen, direction: str, share: float) -> ScrollAt:
    """By a share of the screen; KeyError for what is no direction."""
    width, height = (side * share for side in screen.viewport)
    ways = {"up": (0, -height), "down": (0, height), "left": (-width, 0), "right": (width, 0)}
    return ScrollAt(*ways[direction])


def pressed(names: Sequence[str]) -> AnyAction:
    """`data.actions.keys.press`, with `UnsaidError` for an unknown key."""
    try:
        return press([str(name) for name in names])
    except ActionError:
        raise UnsaidError(_NO_KEY) from None


def number(value: Any) -> float:
    """TypeError where it is none, or none that a screen has."""
    if type(value) not in (int, float) or not abs(value) < 1e9:
        raise TypeError("not a number")
    return value


def words(value: Any) -> str:
    """TypeError where it is no text."""
    if not isinstance(value, str):
        raise TypeError("a text that is none")
    return value
