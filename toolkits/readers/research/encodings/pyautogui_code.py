"""pyautogui's calls as sets of demonstrations write them, read as canonical actions; nothing of the code is run.

    pyautogui.click(x=0.1632, y=0.2711)
    mobile.swipe(from_coord=[0.581, 0.898], to_coord=[0.601, 0.518])

The functions are pyautogui's and the plug-ins of AGUVIS (`src/aguvis/constants.py` of xlang-ai/aguvis: `mobile`,
`browser`, `answer`, `terminate`) and of OpenCUA (`computer`), whose points are shares of the screen. A click of the
wheel counts as 100 pixels, as browsers have it; `page` of a scroll is a share of the screen.
"""

import ast
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from data.actions.action import Answer, GoBack, Wait
from data.actions.point_action import AnyAction, ClickAt, DragAt, HoverAt, ScrollAt, Write
from data.actions.screen import REL1, Point, Screen
from toolkits.readers.research.episodes import HOME, UnsaidError, long_press, number, open_app, point_at, pressed, swipe

_LONGEST = 20_000  # characters; what is nested deeper than Python reads is no call
_WHEEL_CLICK = 100
_NO_CALLS = "code that is no plain call"


def actions_in(code: str, screen: Screen) -> list[AnyAction]:
    """What the calls do, in order.

    Raises:
        UnsaidError: one is no call with plain arguments, or of a function that no canonical action says; that much of
            these sets was written by models is no reason to refuse the rest.
    """
    mouse, actions = _Mouse(screen), []
    for name, arguments, named in _calls(code):
        kind = name.removeprefix("pyautogui.")
        if kind not in _FUNCTIONS:
            raise UnsaidError(name if name.replace(".", "").replace("_", "").isalnum() else _NO_CALLS)
        try:
            done = _FUNCTIONS[kind](mouse, _Arguments(name, arguments, named))
        except (KeyError, TypeError, IndexError):
            raise UnsaidError(f"{name} with other arguments") from None
        if done and isinstance(drag := done[0], DragAt) and drag.start and actions[-1:] == [HoverAt(drag.start)]:
            actions.pop()  # a drag begins with this
        actions += done
    if not actions:
        raise UnsaidError(_NO_CALLS)
    return actions


class _Arguments:
    """By name or place."""

    def __init__(self, function: str, places: list[Any], names: dict[str, Any]):
        self.function, self.places, self.names = function, places, names

    def get(self, place: int, *names: str) -> Any:
        """KeyError where it is not given."""
        for name in names:
            if name in self.names:
                return self.names[name]
        if place < len(self.places):
            return self.places[place]
        raise KeyError(names[0])

    def either(self, place: int, name: str, default: Any) -> Any:
        value = self.names.get(name, self.places[place] if place < len(self.places) else None)
        return default if value is None else value

    def text(self, place: int, *names: str) -> str:
        value = self.get(place, *names)
        if not isinstance(value, str):
            raise TypeError("not a text")
        return value


class _Mouse:
    """Where the calls left it."""

    def __init__(self, screen: Screen):
        self.screen = screen
        self.at: Point | None = None

    def point(self, x: Any, y: Any) -> Point:
        self.at = point_at(REL1, self.screen, x, y)
        return self.at

    def target(self, given: _Arguments, x: int = 0) -> Point:
        """What a call names, or where the mouse is."""
        if "x" in given.names or len(given.places) > x + 1:
            return self.point(given.get(x, "x"), given.get(x + 1, "y"))
        if self.at is None:
            raise UnsaidError(f"{given.function} without a point")
        return self.at

    def pair(self, value: Any) -> Point:
        x, y = value
        return self.point(x, y)


def _click(button: str, count: int) -> Callable[[_Mouse, _Arguments], list[AnyAction]]:
    def read(mouse: _Mouse, given: _Arguments) -> list[AnyAction]:
        clicks, which = given.either(2, "clicks", count), given.either(4, "button", button)
        if clicks not in (1, 2, 3) or which not in ("left", "right", "middle"):
            raise UnsaidError(f"{given.function} of another button or count")
        return [ClickAt(mouse.target(given), which, clicks)]

    return read


def _drag(mouse: _Mouse, given: _Arguments) -> list[AnyAction]:
    if "from_coord" in given.names:
        return [DragAt(mouse.pair(given.names["from_coord"]), mouse.pair(given.get(1, "to_coord")))]
    if given.either(4, "button", "left") != "left":
        raise UnsaidError(f"{given.function} of another button or count")
    return [DragAt(mouse.at, mouse.point(given.get(0, "x"), given.get(1, "y")))]


def _swipe(mouse: _Mouse, given: _Arguments) -> list[AnyAction]:
    return [swipe(mouse.pair(given.get(0, "from_coord")), mouse.pair(given.get(1, "to_coord")))]


def _scroll(across: bool) -> Callable[[_Mouse, _Arguments], list[AnyAction]]:
    def read(mouse: _Mouse, given: _Arguments) -> list[AnyAction]:
        side = mouse.screen.viewport[0 if across else 1]
        if "page" in given.names:
            amount = number(given.names["page"]) * side
        elif given.places or "clicks" in given.names:
            amount = number(given.get(0, "clicks")) * _WHEEL_CLICK
        else:
            raise UnsaidError(f"{given.function} without a direction")
        named = len(given.places) > 2 or "x" in given.names
        at = mouse.target(given, 1) if named else mouse.at
        return [ScrollAt(amount, 0, at) if across else ScrollAt(0, -amount, at)]

    return read


def _press(_: _Mouse, given: _Arguments) -> list[AnyAction]:
    keys = given.get(0, "keys", "key")
    times = given.either(1, "presses", 1)
    if type(times) is not int or not 1 <= times <= 100:
        raise TypeError("not a number of times")
    return [pressed([key]) for key in ([keys] if isinstance(keys, str) else keys)] * times


def _hotkey(_: _Mouse, given: _Arguments) -> list[AnyAction]:
    keys: Sequence[Any] = given.names.get("keys", given.places)
    return [pressed(keys[0] if len(keys) == 1 and isinstance(keys[0], list | tuple) else keys)]


def _ended(_: _Mouse, given: _Arguments) -> list[AnyAction]:
    if isinstance(answer := given.names.get("answer"), str) and answer:
        return [Answer(answer)]
    return [Answer("success" if given.text(0, "status") == "success" else "failure")]


def _chosen(mouse: _Mouse, given: _Arguments) -> list[AnyAction]:
    return [Write(given.text(2, "value"), mouse.target(given))]


_FUNCTIONS: dict[str, Callable[[_Mouse, _Arguments], list[AnyAction]]] = {
    "click": _click("left", 1),
    "leftClick": _click("left", 1),
    "doubleClick": _click("left", 2),
    "tripleClick": _click("left", 3),
    "rightClick": _click("right", 1),
    "middleClick": _click("middle", 1),
    "computer.tripleClick": _click("left", 3),
    "computer.triple_click": _click("left", 3),
    "moveTo": lambda mouse, given: [HoverAt(mouse.target(given))],
    "dragTo": _drag,
    "scroll": _scroll(across=False),
    "vscroll": _scroll(across=False),
    "hscroll": _scroll(across=True),
    "write": lambda _, given: [Write(given.text(0, "message"))],
    "typewrite": lambda _, given: [Write(given.text(0, "message"))],
    "press": _press,
    "hotkey": _hotkey,
    "sleep": lambda *_: [Wait()],
    "time.sleep": lambda *_: [Wait()],
    "computer.wait": lambda *_: [Wait()],
    "mobile.wait": lambda *_: [Wait()],
    "mobile.back": lambda *_: [GoBack()],
    "mobile.home": lambda *_: [HOME],
    "mobile.long_press": lambda mouse, given: [long_press(mouse.target(given))],
    "mobile.open_app": lambda _, given: [open_app(given.get(0, "app_name", "name"))],
    "mobile.swipe": _swipe,
    "browser.select_option": _chosen,
    "answer": lambda _, given: [Answer(given.text(0, "text"))],
    "terminate": _ended,
    "computer.terminate": _ended,
    "mobile.terminate": _ended,
}
"""`pyautogui.` is left out."""


def _calls(code: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Name, and the arguments by place and name, which are literals."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes such as "C:\\d"
            statements = ast.parse(code.strip()).body if len(code) <= _LONGEST else [ast.Pass()]
        return [_call(statement) for statement in statements if not isinstance(statement, ast.Import)]
    except (SyntaxError, ValueError, MemoryError, RecursionError, TypeError):
        raise UnsaidError(_NO_CALLS) from None


def _call(statement: ast.stmt) -> tuple[str, list[Any], dict[str, Any]]:
    """ValueError where it is none."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        raise ValueError("no call")
    call = statement.value
    names = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
    if len(names) < len(call.keywords):
        raise ValueError("arguments by a dict")
    return ast.unparse(call.func), [ast.literal_eval(argument) for argument in call.args], names
