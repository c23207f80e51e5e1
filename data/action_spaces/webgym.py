"""WebGym's `computer_use`: seven actions, points from 0 to 1000; `type` clicks, writes and presses ENTER."""

from collections.abc import Iterator
from typing import Any

from data.action_spaces.tool_calls import Call, ToolCalls, no_words, tool
from data.actions.action import ActionError, Answer, GoBack, Wait
from data.actions.point_action import AnyAction, ClickAt, GoTo, ScrollAt, Write
from data.actions.screen import REL1000, Screen

_SCROLLED = 2 / 3  # of the screen
_ACTIONS = """\
One action:
left_click at coordinate;
type: click at coordinate, replace the text there by text and press ENTER;
scroll: in direction, up or down;
wait: give the page a few seconds;
go_back: return to the page before;
navigate: open url in this tab;
answer: end the task with text"""


class WebGym(ToolCalls):
    """What is to be done stands before the call in words."""

    name, scale = "webgym", REL1000
    thought_form = "Action: {}\n"
    form = (
        "Answer with a line and a call:\nAction: what you see and what you do\n<tool_call>\n"
        '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [500, 500]}}\n</tool_call>\n'
    )
    tools = (
        tool(
            "computer_use",
            "Use a browser.",
            "action",
            action=("string", _ACTIONS),
            coordinate=("array", "a point, [x, y]"),
            text=("string", "of type and answer"),
            direction=("string", "of scroll"),
            time=("number", "seconds of wait"),
            url=("string", "of navigate"),
        ),
    )

    def read(self, call: Call) -> Iterator[AnyAction]:
        if call.name != "computer_use":
            raise ActionError(f"There is no function {call.name[:40]!r}; it is called computer_use.")
        match call.text("action"):
            case "left_click":
                yield ClickAt(call.point("coordinate"))
            case "type":
                yield Write(call.text("text"), call.point("coordinate"), replace=True, enter=True)
            case "scroll":
                height = round(call.screen.viewport[1] * _SCROLLED)
                yield ScrollAt(0, height if call.choice("direction", "down", "up") == "down" else -height)
            case "wait":
                yield Wait()
            case "go_back":
                yield GoBack()
            case "navigate":
                yield GoTo(call.text("url"))
            case "answer":
                yield Answer(call.text("text"))
            case other:
                raise ActionError(f"computer_use has no action {other[:40]!r}.")

    def calls(self, action: AnyAction, screen: Screen) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "computer_use", self._arguments(action, screen)

    def _arguments(self, action: AnyAction, screen: Screen) -> dict[str, Any]:
        match action:
            case ClickAt(at, "left", 1):
                return {"action": "left_click", "coordinate": self.scale.numbers(screen, at)}
            case Write(content, at, replace, enter) if at is not None and replace == enter:
                return {"action": "type", "coordinate": self.scale.numbers(screen, at), "text": content}
            case ScrollAt(0, down, at) if at in (None, screen.center):  # which is where its own turns the wheel
                return {"action": "scroll", "direction": "down" if down > 0 else "up"}
            case Wait():
                return {"action": "wait", "time": 2}
            case GoBack():
                return {"action": "go_back"}
            case GoTo(url):
                return {"action": "navigate", "url": url}
            case Answer(content):
                return {"action": "answer", "text": content}
            case _:
                raise no_words(action, self.name)


SPACE = WebGym()
