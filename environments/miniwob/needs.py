"""What MiniWoB++'s tasks need beside clicks on elements and text in fields, read in their pages' sources; and whether
an action space has it."""

from data.action_spaces import action_space
from data.action_spaces.space import ActionSpace, CannotRenderError
from data.actions.action import Drag
from data.actions.point_action import AnyAction, DragAt, HoverAt
from data.actions.screen import Point, Screen

NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("bisect-angle", "circle-center", "find-midpoint", "right-angle", "grid-coordinate"), ("place",)),
    **dict.fromkeys(("drag-items", "drag-items-grid", "drag-sort-numbers"), ("drag",)),
    **dict.fromkeys(("drag-box", "drag-circle", "drag-shapes", "drag-shapes-2"), ("drag", "place")),
    **dict.fromkeys(("drag-cube", "drag-single-shape", "draw-line", "resize-textarea"), ("drag", "place")),
    **dict.fromkeys(("use-slider", "use-slider-2", "form-sequence", "daily-calendar"), ("drag", "place")),
    **dict.fromkeys(("highlight-text", "highlight-text-2", "text-editor"), ("drag", "place")),
    **dict.fromkeys(("button-delay", "chase-circle", "hover-shape", "moving-items", "stock-market"), ("time",)),
    "simon-says": ("time",),
    "hot-cold": ("hover", "place"),
    "draw-circle": ("curve",),
    "click-scroll-list": ("several",),
}

MEANINGS = {
    "number": "a control has no number",
    "place": "a point where no element ends, which a number cannot name",
    "drag": "dragging",
    "hover": "the mouse moved somewhere without a click",
    "time": "what happens within seconds, also while the model thinks",
    "curve": "a mouse that is dragged along a curve",
    "several": "a second choice in a list, made with a key held",
}

_SCREEN = Screen((1000, 1000), (1000, 1000))
_POINT = Point(1.0, 1.0)
_AT_POINTS = {"drag": DragAt(_POINT, _POINT), "hover": HoverAt(_POINT)}
_BY_NUMBERS = {"drag": Drag(1, 2)}


def lacks(name: str, space: str, without_number: bool = False) -> list[str]:
    """What this action space has not of what the task needs, as words of `MEANINGS`; none: it can be done.

    `without_number`: whether a control of the task has no number, where the space goes by numbers.
    """
    needs, spoken = NEEDS.get(name, ()), action_space(space)
    if spoken.scale is not None:
        return [need for need in needs if need != "place" and not _says(spoken, _AT_POINTS.get(need))]
    lacking = [need for need in needs if need != "several" and not _says(spoken, _BY_NUMBERS.get(need))]
    return ["number", *lacking] if without_number else lacking


def _says(space: ActionSpace, action: AnyAction | None) -> bool:
    """Whether it has words for the action, if there is one."""
    try:
        return action is not None and bool(space.render("", [action], _SCREEN))
    except CannotRenderError:
        return False
