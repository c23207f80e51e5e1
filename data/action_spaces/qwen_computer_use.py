"""Qwen3-VL's `computer_use`: one tool of mouse and keyboard, points from 0 to 1000."""

from collections.abc import Iterator
from typing import Any

from data.action_spaces.tool_calls import Call, ToolCalls, no_words, tool
from data.actions.action import ActionError, Answer, Wait
from data.actions.keys import press, short_names, shortcut
from data.actions.point_action import AnyAction, Button, ClickAt, DragAt, HoverAt, Press, ScrollAt, Write
from data.actions.screen import REL1000, Screen

_CLICKS: dict[str, tuple[Button, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
_CLICK_OF = {click: name for name, click in _CLICKS.items()}
_ACTIONS = """\
One action:
left_click, right_click, middle_click, double_click, triple_click at coordinate;
mouse_move to coordinate;
left_click_drag: drag from where the mouse is to coordinate;
type: write text into what has the focus, a line break at its end presses ENTER;
key: press keys together, such as ["ctrl", "a"]; ["alt", "left"] goes back to the page before;
scroll: turn the wheel by pixels, up where they are positive, at coordinate or in the middle; hscroll: to the right;
wait: give the page a few seconds;
answer: end the task with text;
terminate: end the task with status"""


class QwenComputerUse(ToolCalls):
    """One function, whose argument `action` says what it does."""

    name, scale = "qwen_computer_use", REL1000
    form = (
        "Answer with a short thought and a call:\n<tool_call>\n"
        '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 500]}}\n</tool_call>\n'
    )
    tools = (
        tool(
            "computer_use",
            "Use a browser by mouse and keyboard; the screen measures 1000x1000.",
            "action",
            action=("string", _ACTIONS),
            coordinate=("array", "a point, [x, y]"),
            text=("string", "of type and answer"),
            keys=("array", "of key"),
            pixels=("number", "of scroll and hscroll"),
            time=("number", "seconds of wait"),
            status=("string", "of terminate: success or failure"),
        ),
    )

    def read(self, call: Call) -> Iterator[AnyAction]:
        if call.name != "computer_use":
            raise ActionError(f"There is no function {call.name[:40]!r}; it is called computer_use.")
        kind = call.text("action")
        if kind in _CLICKS:
            yield ClickAt(call.point("coordinate"), *_CLICKS[kind])
        elif kind == "mouse_move":
            yield HoverAt(call.point("coordinate"))
        elif kind == "left_click_drag":
            yield DragAt(None, call.point("coordinate"))
        elif kind == "type":
            text = call.text("text")
            yield Write(text.removesuffix("\n"), enter=text.endswith("\n"))
        elif kind == "key":
            yield press(call.words("keys"))
        elif kind == "scroll":
            yield ScrollAt(0, -call.number("pixels", 0), call.perhaps("coordinate"))
        elif kind == "hscroll":
            yield ScrollAt(call.number("pixels", 0), 0, call.perhaps("coordinate"))
        elif kind == "wait":
            yield Wait()
        elif kind == "answer":
            yield Answer(call.text("text"))
        elif kind == "terminate":
            yield Answer(call.choice("status", "success", "failure"))
        else:
            raise ActionError(f"computer_use has no action {kind[:40]!r}.")

    def calls(self, action: AnyAction, screen: Screen) -> Iterator[tuple[str, dict[str, Any]]]:
        for arguments in self._arguments(action, screen):
            yield "computer_use", arguments

    def _arguments(self, action: AnyAction, screen: Screen) -> Iterator[dict[str, Any]]:
        match action:
            case ClickAt(at, button, count) if (button, count) in _CLICK_OF:
                yield {"action": _CLICK_OF[button, count], "coordinate": self.scale.numbers(screen, at)}
            case HoverAt(at):
                yield {"action": "mouse_move", "coordinate": self.scale.numbers(screen, at)}
            case DragAt(start, end):
                if start is not None:
                    yield {"action": "mouse_move", "coordinate": self.scale.numbers(screen, start)}
                yield {"action": "left_click_drag", "coordinate": self.scale.numbers(screen, end)}
            case Write(content, at, replace, enter):
                if at is not None:
                    yield {"action": "left_click", "coordinate": self.scale.numbers(screen, at)}
                if replace:
                    yield {"action": "key", "keys": ["ctrl", "a"]}
                yield {"action": "type", "text": content + "\n" * enter}
            case Press(keys):
                yield {"action": "key", "keys": short_names(keys)}
            case ScrollAt(right, down, at):
                where = {} if at is None else {"coordinate": self.scale.numbers(screen, at)}
                yield (
                    {"action": "hscroll", "pixels": right, **where}
                    if right
                    else {
                        "action": "scroll",
                        "pixels": -down,
                        **where,
                    }
                )
            case Wait():
                yield {"action": "wait", "time": 2}
            case Answer(content):
                yield {"action": "answer", "text": content}
            case _:
                keys = shortcut(action)
                if keys is None:
                    raise no_words(action, self.name)
                yield {"action": "key", "keys": short_names(keys)}


SPACE = QwenComputerUse()
