"""Touched: where a finger went at a step on a phone, as shares of the screen: one point of a tap, two of a swipe."""

import dataclasses
from typing import Any

from data.action_spaces.space import ActionSpace, CannotRenderError
from data.action_spaces.translate import Page, to_point
from data.actions.finger import scroll_by_finger
from data.actions.point_action import AnyAction, ScrollAt
from data.actions.screen import Point, Screen, Size
from viewer.catalog.heads import as_number, as_object, numbers
from viewer.trajectory.acted import points_of_record, read_action

Place = list[list[float]]


def is_phone(provenance: dict[str, Any]) -> bool:
    """Whether a trajectory was taken on a touch screen, where a wheel is a finger."""
    return bool(provenance.get("touch") or provenance.get("device"))


def touched_by_record(record: dict[str, Any]) -> Place | None:
    """The swipe of a `ScrollAt`, from what is kept of it (`data.actions.point_action.ActionRecord`); None of another
    action, whose points are its own."""
    arguments, viewport = as_object(record.get("arguments")), size_of(record.get("viewport"))
    right, down = (as_number(arguments.get(name)) for name in ("right", "down"))
    if record.get("kind") != "ScrollAt" or viewport is None or right is None or down is None:
        return None
    points = [Point(x, y) for x, y in points_of_record(record)]
    return _place(ScrollAt(right, down, points[0] if points else None), viewport)


def touched_by_number(reply: str, space: ActionSpace, boxes: dict[str, list[float]], viewport: Size | None) -> Place:
    """Of a reply that names elements by their numbers, which lie in `boxes`."""
    action = read_action(reply, space)
    if action is None or viewport is None:
        return []
    lies = {int(label): box for label, box in boxes.items() if label.isdecimal()}
    try:
        return _place(to_point(action, Page(Screen(viewport, viewport), lies)), viewport)
    except CannotRenderError:  # it is on nothing that the screen shows
        return []


def size_of(viewport: Any) -> Size | None:
    """Width and height, where they are some."""
    sides = numbers(viewport)
    return (round(sides[0]), round(sides[1])) if len(sides) == 2 and min(sides) >= 1 else None


def _place(action: AnyAction, viewport: Size) -> Place:
    if isinstance(action, ScrollAt):
        action = scroll_by_finger(action.right, action.down, action.at, viewport)
    values = [getattr(action, field.name) for field in dataclasses.fields(action)]
    return [[at.x / viewport[0], at.y / viewport[1]] for at in values if isinstance(at, Point)]
