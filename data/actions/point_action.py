"""What an agent does on a page by points and keys, whichever way its model says it: the canonical form of all action
spaces by coordinates (`data/action_spaces/`). Waiting, going back, starting over and answering are those of
`data/actions/action.py`.
"""

import dataclasses
from typing import Any, Literal

from data.actions.action import Action
from data.actions.screen import Point, Scale, Screen

Button = Literal["left", "right", "middle"]


@dataclasses.dataclass(frozen=True)
class ClickAt:
    """Click there, `count` times in a row."""

    at: Point
    button: Button = "left"
    count: int = 1


@dataclasses.dataclass(frozen=True)
class HoverAt:
    """Move the mouse there."""

    at: Point


@dataclasses.dataclass(frozen=True)
class DragAt:
    """Press at `start`, or where the mouse is, and let go at `end`."""

    start: Point | None
    end: Point


@dataclasses.dataclass(frozen=True)
class Write:
    """Type into what has the focus, after a click `at`; `replace` what stands there, and press ENTER in the end."""

    content: str
    at: Point | None = None
    replace: bool = False
    enter: bool = False


@dataclasses.dataclass(frozen=True)
class Press:
    """Press these keys together, by DevTools' names: `("Control", "a")`."""

    keys: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ScrollAt:
    """Turn the wheel there, by default in the middle; CSS pixels to the right and down."""

    right: float
    down: float
    at: Point | None = None


@dataclasses.dataclass(frozen=True)
class GoTo:
    """Open an address in this tab."""

    url: str


@dataclasses.dataclass(frozen=True)
class OpenTab:
    """A new tab, in front."""


@dataclasses.dataclass(frozen=True)
class SelectTab:
    """Bring a tab to the front, by its number from 0; None: the next one."""

    index: int | None


@dataclasses.dataclass(frozen=True)
class CloseTab:
    """Close the tab in front."""


PointAction = ClickAt | HoverAt | DragAt | Write | Press | ScrollAt | GoTo | OpenTab | SelectTab | CloseTab
AnyAction = Action | PointAction


@dataclasses.dataclass(frozen=True)
class ActionRecord:
    """An action as it was said and as it was carried out; what a trajectory keeps of it.

    Args:
        space: the action space that the model spoke.
        kind: `ClickAt`, `Write`, ...
        coordinates: what the model's numbers count: `rel1000`, or `px_resized(1288,1008)`, pixels of the image as the
            model was shown it.
        model: its numbers, [x, y] for each point.
        css: the same in CSS pixels of the viewport.
        viewport: CSS pixels.
        screenshot: pixels of the image; of one CSS pixel, `screenshot[0] / viewport[0]`.
        arguments: the rest of the action.
    """

    space: str
    kind: str
    coordinates: str
    model: list[list[float]]
    css: list[list[float]]
    viewport: list[int]
    screenshot: list[int]
    arguments: dict[str, Any]

    @staticmethod
    def of(space: str, scale: Scale, screen: Screen, action: AnyAction) -> "ActionRecord":
        """Of an action that `scale` resolved on `screen`."""
        fields = {field.name: getattr(action, field.name) for field in dataclasses.fields(action)}
        points = [value for value in fields.values() if isinstance(value, Point)]
        return ActionRecord(
            space=space,
            kind=type(action).__name__,
            coordinates=scale.label(screen),
            model=[list(point.model) for point in points],
            css=[[point.x, point.y] for point in points],
            viewport=list(screen.viewport),
            screenshot=list(screen.screenshot),
            arguments={name: value for name, value in fields.items() if not isinstance(value, Point)},
        )
