"""Acted: what an agent did at a step, in words and where: on elements by their labels, or at points."""

import re
from typing import Any

from data.action_spaces.space import ActionSpace
from data.action_spaces.webvoyager import SPACE
from data.actions.action import ActionError, Click, Drag, Scroll, Type, action_text
from data.actions.point_action import AnyAction
from viewer.catalog.heads import as_object, as_text, numbers, shortened

MAX_REPLY = 100_000
_LABEL = re.compile(r"\[?(\d+)\]?")
_MAX_NAME = 60


def in_words(step: dict[str, Any], tree: str, space: ActionSpace = SPACE) -> str:
    """A step's action with the names of the elements it is on, from what the model read of the page; `space` is what
    its reply is written in."""
    did = [as_object(record) for record in step["actions"]] if isinstance(step.get("actions"), list) else []
    reply = as_text(step.get("reply"))[:MAX_REPLY]
    is_there = "Action:" in reply or not reply.lstrip().startswith("Thought:")
    return "; ".join(map(said, did)) or (named(reply, tree, space) if is_there else "")


def named(reply: str, tree: str, space: ActionSpace = SPACE) -> str:
    """Such as `Click [14] 'Weaving'`."""
    action, labels = action_text(reply), labels_of(reply, space)
    names = {str(label): name for label in labels if (name := _name(label, tree))}

    def with_name(match: re.Match[str]) -> str:
        name = names.get(match[1])
        return f"{match[0]} '{name}'" if name else match[0]

    return _LABEL.sub(with_name, action, count=len(labels)) if labels else action


def _name(label: int, tree: str) -> str:
    found = re.search(rf"^[ \t]*\[{label}\] [^'\n]*'(.*?)'(?:\s|$)", tree, re.MULTILINE)
    return shortened(" ".join(found[1].split()), _MAX_NAME) if found else ""


def said(record: dict[str, Any]) -> str:
    """An action by coordinates (`data.actions.point_action.ActionRecord`) in words."""
    points = [f"({x:.0f}, {y:.0f})" for x, y in points_of_record(record)]
    arguments = as_object(record.get("arguments")).items()
    details = [f"{name}={value}" for name, value in arguments if isinstance(value, str | int | float) and value != ""]
    return shortened(as_text(" ".join([as_text(record.get("kind")), *points, *details])))


def place_of(record: dict[str, Any]) -> list[list[float]]:
    """[x, y] of each of its points on the page, as shares of it."""
    viewport = numbers(record.get("viewport"))
    if len(viewport) != 2 or min(viewport) <= 0:
        return []
    shares = ([x / viewport[0], y / viewport[1]] for x, y in points_of_record(record))
    return [share for share in shares if min(share) >= 0 and max(share) <= 1]


def points_of_record(record: dict[str, Any]) -> list[list[float]]:
    """[x, y] of each of its points, in pixels of the page."""
    css = record.get("css")
    return [point for point in map(numbers, css) if len(point) == 2] if isinstance(css, list) else []


def labels_of(reply: str, space: ActionSpace = SPACE) -> list[int]:
    """Of the elements that an action is on, where a drag ends last."""
    action = read_action(reply, space)
    if isinstance(action, Drag):
        return [action.label, action.target]
    return [action.label] if isinstance(action, Click | Type | Scroll) and action.label is not None else []


def read_action(reply: str, space: ActionSpace) -> AnyAction | None:
    """What a reply says that names elements by their numbers; None where it cannot be read, or says it by points."""
    if space.scale is not None:
        return None
    try:
        actions = space.parse(reply, None).actions
    except ActionError:
        return None
    return actions[0] if actions else None
