"""AndroidWorld's actions: one JSON object a reply, with points in pixels of the screenshot (`json_action.py`).

`index` names an element of a list that this space does not show: points are given instead. `scroll` shows what is
further that way, by half a screen; `swipe` moves a finger across the whole screen, and for left and right the way that
AndroidWorld's `actuation.py` does, from the side that is named.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from common.files import parse_json
from data.action_spaces.space import CannotRenderError, Parsed, PointSpace, writable
from data.actions.action import ActionError, Answer, GoBack, Restart, Wait
from data.actions.point_action import AnyAction, ClickAt, DragAt, GoTo, Press, ScrollAt, Write
from data.actions.screen import PX, Point, Screen

APP = "app:"
"""How an address begins that starts an app by its name."""
_PROMPT = """\
You use a phone to carry out a task for a person. Each turn shows you a screenshot. You answer in exactly this form:
Reason: what you see and what follows from it
Action: {"action_type": "click", "x": 200, "y": 450}

Actions:
{"action_type": "click", "x": ..., "y": ...}, and "double_tap" and "long_press" likewise
{"action_type": "input_text", "text": "...", "x": ..., "y": ...}: tap there, write and press enter; with "clear_text": \
true the text there is replaced
{"action_type": "keyboard_enter"}, {"action_type": "navigate_back"}, {"action_type": "navigate_home"}
{"action_type": "scroll", "direction": "down"}: down, up, left or right; down shows what is further down
{"action_type": "swipe", "direction": "up"}: a finger across the screen
{"action_type": "open_app", "app_name": "..."}
{"action_type": "wait"}
{"action_type": "answer", "text": "..."}: end the task with what was asked for
{"action_type": "status", "goal_status": "complete"}: end the task, complete or infeasible

x and y are pixels of the screenshot, from its top left corner.
"""
_ACTION = re.compile(r"(?:^|\n)[ \t]*Action:", re.IGNORECASE)
_STATUS = {"complete": "success", "infeasible": "failure"}
_PLAIN: dict[str, AnyAction] = {
    "keyboard_enter": Press(("Enter",)),
    "navigate_back": GoBack(),
    "navigate_home": Restart(),
    "wait": Wait(),
}


class AndroidWorld(PointSpace):
    name, scale = "androidworld", PX
    has_home = True

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        return _PROMPT

    def parse(self, reply: str, screen: Screen | None) -> Parsed:
        assert screen is not None
        head, *rest = _ACTION.split(reply, maxsplit=1)
        text = rest[0] if rest else reply
        begin, end = text.find("{"), text.rfind("}")
        try:
            said = parse_json(text[begin : end + 1]) if 0 <= begin < end else None
        except ValueError:
            said = None
        if not isinstance(said, dict) or not isinstance(said.get("action_type"), str):
            raise ActionError('Format error: an action is JSON such as {"action_type": "click", "x": 1, "y": 2}.')
        thought = head.partition("Reason:")[2] or head if rest else ""
        return Parsed(" ".join(thought.split()), (self._read(said["action_type"], said, screen),))

    def _read(self, kind: str, said: dict[str, Any], screen: Screen) -> AnyAction:
        if kind in _PLAIN:
            return _PLAIN[kind]
        match kind:
            case "click":
                return ClickAt(self._point(said, screen))
            case "double_tap":
                return ClickAt(self._point(said, screen), count=2)
            case "long_press":
                at = self._point(said, screen)
                return DragAt(at, at)
            case "input_text":
                at = None if said.get("x") is None else self._point(said, screen)
                return Write(_text(said, "text"), at, replace=said.get("clear_text") is True, enter=True)
            case "scroll" | "swipe":
                return self._way(kind, _text(said, "direction"), screen)
            case "open_app":
                return GoTo(APP + _text(said, "app_name"))
            case "answer":
                return Answer(_text(said, "text"))
            case "status" if _text(said, "goal_status") in _STATUS:
                return Answer(_STATUS[said["goal_status"]])
            case _:
                raise ActionError(f"There is no action {json.dumps(said)[:100]}.")

    def _point(self, said: dict[str, Any], screen: Screen) -> Point:
        if said.get("x") is None or said.get("y") is None:
            raise ActionError("Say by x and y where on the screenshot.")
        return self.scale.point(screen, [said["x"], said["y"]])

    def _way(self, kind: str, direction: str, screen: Screen) -> AnyAction:
        width, height = screen.viewport
        ways = {"down": (0, height / 2), "up": (0, -height / 2), "right": (width / 2, 0), "left": (-width / 2, 0)}
        if direction not in ways:
            raise ActionError("The direction is down, up, left or right.")
        if kind == "scroll":
            return ScrollAt(*ways[direction])
        return _across(direction, screen)

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None) -> str:
        assert screen is not None
        if len(actions) != 1:
            raise CannotRenderError(f"androidworld says one action a reply, not {len(actions)}")
        said = json.dumps(self._written(actions[0], screen), ensure_ascii=False)
        return f"Reason: {' '.join(thought.split())}\nAction: {said}"

    def _written(self, action: AnyAction, screen: Screen) -> dict[str, Any]:
        def at(point: Point) -> dict[str, int]:
            return dict(zip("xy", self.scale.numbers(screen, point), strict=True))

        match action:
            case ClickAt(point, "left", 1 | 2 as count):
                return {"action_type": "click" if count == 1 else "double_tap", **at(point)}
            case DragAt(start, end) if start is not None and (start.x, start.y) == (end.x, end.y):
                return {"action_type": "long_press", **at(end)}
            case DragAt() if way := next((way for way in _ACROSS if _across(way, screen) == action), ""):
                return {"action_type": "swipe", "direction": way}
            case Write(content, point, replace, True):
                where = {} if point is None else at(point)
                return {"action_type": "input_text", "text": content, **where} | (
                    {"clear_text": True} if replace else {}
                )
            case ScrollAt(right, down, None):
                way = ("right" if right > 0 else "left") if right else ("down" if down > 0 else "up")
                return {"action_type": "scroll", "direction": way}
            case GoTo(url) if url.startswith(APP):
                return {"action_type": "open_app", "app_name": url.removeprefix(APP)}
            case Answer(content) if content in _STATUS.values():
                status = next(said for said, means in _STATUS.items() if means == content)
                return {"action_type": "status", "goal_status": status}
            case Answer(content):
                return {"action_type": "answer", "text": content}
            case _:
                kind = next((kind for kind, plain in _PLAIN.items() if plain == action), None)
                if kind is None:
                    raise CannotRenderError(f"androidworld has no words for {type(action).__name__}")
                return {"action_type": kind}


_ACROSS = {
    "up": ((0.5, 1), (0.5, 0)),
    "down": ((0.5, 0), (0.5, 1)),
    "left": ((0, 0.5), (1, 0.5)),
    "right": ((1, 0.5), (0, 0.5)),
}


def _across(direction: str, screen: Screen) -> DragAt:
    """A finger from one side of the screen to the other."""
    width, height = screen.viewport
    return DragAt(*(Point(x * (width - 1), y * (height - 1)) for x, y in _ACROSS[direction]))


def _text(said: dict[str, Any], key: str) -> str:
    if not isinstance(said.get(key), str):
        raise ActionError(f"{said['action_type']} takes a text as {key}.")
    return writable(said[key])


SPACE = AndroidWorld()
