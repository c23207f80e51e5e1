"""OpenWebRL's browser functions: one for each action, points from 0 to 1000, several calls a reply run in order."""

from collections.abc import Iterator
from typing import Any

from data.action_spaces.tool_calls import Call, ToolCalls, no_words, tool
from data.actions.action import ActionError, Answer, GoBack, Wait
from data.actions.keys import press, shortcut
from data.actions.point_action import (
    AnyAction,
    ClickAt,
    CloseTab,
    DragAt,
    GoTo,
    HoverAt,
    OpenTab,
    Press,
    ScrollAt,
    SelectTab,
    Write,
)
from data.actions.screen import REL1000, Point, Screen

_POINT = ("array", "a point, [x, y]")
_MOST_PRESSES = 20
_MOST_KEYS = 60  # the page is waited for after each


class OpenWebRL(ToolCalls):
    """Thoughts stand in `<think>`."""

    name, scale = "openwebrl", REL1000
    thought_form = "<think>{}</think>\n"
    form = (
        "Answer with a short thought and a call:\n<think>what you see and what follows from it</think>\n<tool_call>\n"
        '{"name": "click", "arguments": {"point_2d": [500, 500]}}\n</tool_call>\n'
    )
    tools = (
        tool(
            "click",
            "Click at a point.",
            "point_2d",
            point_2d=_POINT,
            clicks=("integer", "how often, 1 by default"),
            button=("string", "left, right or middle"),
        ),
        tool("hover", "Move the mouse to a point.", "point_2d", point_2d=_POINT),
        tool(
            "drag",
            "Drag from point to point.",
            "start_point_2d end_point_2d",
            start_point_2d=_POINT,
            end_point_2d=_POINT,
        ),
        tool("write", "Replace the text of what has the focus.", "message", message=("string", "the new text")),
        tool(
            "press_keys",
            "Press keys one after another, or together.",
            "keys",
            keys=("array", 'names, such as ["Enter"]'),
            is_hotkey=("boolean", "together"),
            presses=("integer", "how often, 1 by default"),
        ),
        tool(
            "scroll",
            "Turn the wheel.",
            "direction",
            direction=("string", "up, down, left or right"),
            amount=("number", "share of the screen, 0 to 1, 0.5 by default"),
            point_2d=("array", "where, by default in the middle"),
        ),
        tool("wait", "Give the page a few seconds.", seconds=("number", "about 3")),
        tool("goto_url", "Open an address in this tab.", "url", url=("string", "the address")),
        tool("go_back", "Return to the page before."),
        tool("new_tab", "Open a tab where the task began."),
        tool(
            "switch_tab",
            "Bring a tab to the front.",
            "tab_index",
            tab_index=("integer", "its number in the list of tabs"),
        ),
        tool("close_tab", "Close the tab in front."),
        tool("done", "End the task.", "response", response=("string", "what the person reads")),
    )

    def read(self, call: Call) -> Iterator[AnyAction]:
        match call.name:
            case "click":
                count = min(3, max(1, round(call.number("clicks", 1))))
                yield ClickAt(call.point("point_2d"), call.choice("button", "left", "right", "middle"), count)
            case "hover":
                yield HoverAt(call.point("point_2d"))
            case "drag":
                yield DragAt(call.point("start_point_2d"), call.point("end_point_2d"))
            case "write":
                yield Write(call.text("message"), replace=True)
            case "press_keys":
                keys = call.words("keys")
                together = call.arguments.get("is_hotkey") is True or not keys
                pressed = [press(keys)] if together else [press([key]) for key in keys]
                pressed *= min(_MOST_PRESSES, max(1, round(call.number("presses", 1))))
                if len(pressed) > _MOST_KEYS:
                    raise ActionError(f"press_keys presses at most {_MOST_KEYS} keys, not {len(pressed)}.")
                yield from pressed
            case "scroll":
                way, at = call.choice("direction", "down", "up", "left", "right"), call.perhaps("point_2d")
                share = min(1.0, max(0.0, call.number("amount", 0.5)))
                width, height = (share * side for side in call.screen.viewport)
                right = {"left": -width, "right": width}.get(way, 0)
                yield ScrollAt(right, {"up": -height, "down": height}.get(way, 0), at)
            case "wait":
                yield Wait()
            case "goto_url":
                yield GoTo(call.text("url"))
            case "go_back":
                yield GoBack()
            case "new_tab":
                yield OpenTab()
            case "switch_tab":
                yield SelectTab(round(call.number("tab_index", -1)))
            case "close_tab":
                yield CloseTab()
            case "done":
                yield Answer(call.text("response"))
            case "call_user":
                raise ActionError("The person cannot be asked; go on by yourself.")
            case _:
                raise ActionError(f"There is no function {call.name[:40]!r}.")

    def calls(self, action: AnyAction, screen: Screen) -> Iterator[tuple[str, dict[str, Any]]]:
        def numbers(point: Point) -> list[int]:
            return self.scale.numbers(screen, point)

        match action:
            case ClickAt(at, button, count):
                clicks = {"clicks": count} if count > 1 else {}
                yield "click", {"point_2d": numbers(at), **clicks, **({"button": button} if button != "left" else {})}
            case HoverAt(at):
                yield "hover", {"point_2d": numbers(at)}
            case DragAt(start, end) if start is not None:
                yield "drag", {"start_point_2d": numbers(start), "end_point_2d": numbers(end)}
            case Write(content, at, replace, enter) if replace:
                if at is not None:
                    yield "click", {"point_2d": numbers(at)}
                yield "write", {"message": content}
                if enter:
                    yield "press_keys", {"keys": ["Enter"]}
            case Write(content, at, _, False) if at is not None:  # of a menu: there is nothing to replace
                yield "click", {"point_2d": numbers(at)}
                yield "write", {"message": content}
            case Press(keys):
                yield "press_keys", {"keys": list(keys), **({"is_hotkey": True} if len(keys) > 1 else {})}
            case ScrollAt(right, down, at):
                way = ("right" if right > 0 else "left") if right else ("down" if down > 0 else "up")
                share = abs(right) / screen.viewport[0] if right else abs(down) / screen.viewport[1]
                where = {} if at is None else {"point_2d": numbers(at)}
                yield "scroll", {"direction": way, "amount": round(min(share, 1.0), 3), **where}
            case Wait():
                yield "wait", {"seconds": 3}
            case GoTo(url):
                yield "goto_url", {"url": url}
            case GoBack():
                yield "go_back", {}
            case OpenTab():
                yield "new_tab", {}
            case SelectTab(index) if index is not None:
                yield "switch_tab", {"tab_index": index}
            case CloseTab():
                yield "close_tab", {}
            case Answer(content):
                yield "done", {"response": content}
            case _ if keys := shortcut(action):
                yield "press_keys", {"keys": list(keys), "is_hotkey": True}
            case _:
                raise no_words(action, self.name)


SPACE = OpenWebRL()
