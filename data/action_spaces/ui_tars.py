"""UI-TARS 1.5: Thought and Action as a function call; points in pixels of the image as its processor resizes it."""

import re
from collections.abc import Iterator, Sequence

from data.action_spaces.space import ADVICE, CannotRenderError, Parsed, PointSpace
from data.actions.action import ActionError, Answer, Wait
from data.actions.keys import press, short_names, shortcut
from data.actions.point_action import AnyAction, Button, ClickAt, DragAt, HoverAt, Press, ScrollAt, Write
from data.actions.screen import PX_RESIZED, Point, Screen

_PROMPT = """\
You browse the web to carry out a task for a person. Each turn shows you a screenshot of the page as it is now. You \
answer in exactly this form, several actions with an empty line between them:
Thought: what you see and what follows from it
Action: one of these
click(point='<point>x y</point>')
left_double(point='<point>x y</point>')
right_single(point='<point>x y</point>')
drag(start_point='<point>x y</point>', end_point='<point>x y</point>')
hotkey(key='ctrl a'): keys together, at most three; 'alt left' goes back to the page before
type(content='text'): into what has the focus; \\n at its end presses ENTER; write \\' for ' and \\\\ for \\
scroll(point='<point>x y</point>', direction='down'): down, up, left or right
wait(): give the page a few seconds
finished(content='text'): end the task

Points are pixels of the screenshot, from its top left corner.

{advice}
"""
_CALLS = "click|left_double|right_single|hover|drag|hotkey|type|scroll|wait|finished"
_CALL = re.compile(rf"^[ \t]*(?:Action:\s*)?({_CALLS})\(", re.MULTILINE)
_CALL_BEHIND = re.compile(rf"\b(?:{_CALLS})\(")
_CONTENT = re.compile(r"""\s*content\s*=\s*(['"])(.*)\1\s*(?:\)\s*)?""", re.DOTALL)
_ARGUMENT = re.compile(r"""(\w+)\s*=\s*(['"])(.*?)\2""", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CLICKS: dict[str, tuple[Button, int]] = {
    "click": ("left", 1),
    "left_double": ("left", 2),
    "right_single": ("right", 1),
}
_CLICK_OF = {click: name for name, click in _CLICKS.items()}
_SCROLLED = 2 / 3  # of the screen


class UITars(PointSpace):
    """The screenshot's size decides what a pixel is."""

    name, scale = "ui_tars", PX_RESIZED

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        return _PROMPT.format(advice=ADVICE)

    def parse(self, reply: str, screen: Screen | None) -> Parsed:
        assert screen is not None
        head, found, body = reply.partition("Action:")
        calls = list(_CALL.finditer(body))
        if not found or not calls:
            raise ActionError("Format error: the reply holds no Action that is one of the functions.")
        ends = [*(call.start() for call in calls[1:]), len(body)]
        actions = [
            action
            for call, end in zip(calls, ends, strict=True)
            for action in self._read(call[1], body[call.end() : end], screen)
        ]
        return Parsed(head.partition("Thought:")[2].strip(), tuple(actions))

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None) -> str:
        assert screen is not None
        lines = [line for action in actions for line in self._written(action, screen)]
        return f"Thought: {thought}\nAction: " + "\n\n".join(lines)

    def _read(self, name: str, text: str, screen: Screen) -> Iterator[AnyAction]:
        if name in ("type", "finished"):
            content = _CONTENT.fullmatch(text)
            if content is None:
                raise ActionError(f"{name} takes a content, such as {name}(content='text').")
            said = _ESCAPED.sub(lambda one: "\n" if one[1] == "n" else one[1], content[2])
            yield Answer(said) if name == "finished" else Write(said.removesuffix("\n"), enter=said.endswith("\n"))
            return
        if _CALL_BEHIND.search(_ARGUMENT.sub("", text)):
            raise ActionError("Format error: each call stands on a line of its own, with an empty line between them.")
        arguments = {key: value for key, _, value in _ARGUMENT.findall(text)}

        def point(*names: str) -> Point:
            value = next((arguments[key] for key in names if key in arguments), None)
            if value is None:
                raise ActionError(f"{name} takes a {names[0]}, such as {names[0]}='<point>100 200</point>'.")
            return self.scale.point(screen, [float(number) for number in _NUMBER.findall(value)])

        if name in _CLICKS:
            yield ClickAt(point("point", "start_box"), *_CLICKS[name])
        elif name == "hover":
            yield HoverAt(point("point", "start_box"))
        elif name == "drag":
            yield DragAt(point("start_point", "start_box"), point("end_point", "end_box"))
        elif name == "hotkey":
            yield press(arguments.get("key", "").split())
        elif name == "scroll":
            width, height = (round(side * _SCROLLED) for side in screen.viewport)
            ways = {"up": (0, -height), "down": (0, height), "left": (-width, 0), "right": (width, 0)}
            if arguments.get("direction") not in ways:
                raise ActionError("The direction of scroll is down, up, left or right.")
            at = point("point", "start_box") if {"point", "start_box"} & arguments.keys() else None
            yield ScrollAt(*ways[arguments["direction"]], at)
        else:
            yield Wait()

    def _written(self, action: AnyAction, screen: Screen) -> Iterator[str]:
        def at(point: Point) -> str:
            return "'<point>{} {}</point>'".format(*self.scale.numbers(screen, point))

        match action:
            case ClickAt(point, button, count) if (button, count) in _CLICK_OF:
                yield f"{_CLICK_OF[button, count]}(point={at(point)})"
            case HoverAt(point):
                yield f"hover(point={at(point)})"
            case DragAt(start, end) if start is not None:
                yield f"drag(start_point={at(start)}, end_point={at(end)})"
            case Write(content, point, replace, enter):
                if point is not None:
                    yield f"click(point={at(point)})"
                if replace:
                    yield "hotkey(key='ctrl a')"
                yield f"type(content='{_quoted(content + chr(10) * enter)}')"
            case Press(keys) if len(keys) <= 3:
                yield f"hotkey(key='{' '.join(short_names(keys))}')"
            case ScrollAt(right, down, point):
                way = ("right" if right > 0 else "left") if right else ("down" if down > 0 else "up")
                yield f"scroll(point={at(screen.center if point is None else point)}, direction='{way}')"
            case Wait():
                yield "wait()"
            case Answer(content):
                yield f"finished(content='{_quoted(content)}')"
            case _:
                keys = shortcut(action)
                if keys is None:
                    raise CannotRenderError(f"{self.name} has no {type(action).__name__}")
                yield f"hotkey(key='{' '.join(short_names(keys))}')"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n")


SPACE = UITars()
