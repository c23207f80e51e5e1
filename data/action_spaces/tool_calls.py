"""Replies in tool calls: thoughts, then `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, one or several."""

import abc
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from common.files import parse_json
from data.action_spaces.space import ADVICE, CannotRenderError, Parsed, PointSpace, writable
from data.actions.action import ActionError
from data.actions.point_action import AnyAction
from data.actions.screen import Point, Scale, Screen

Choice = TypeVar("Choice", bound=str)

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_THINK = re.compile(r"</?think>")
_PROMPT = """\
You browse the web to carry out a task for a person. Each turn shows you a screenshot of the page as it is now. You \
think, then you call {function}; several calls in one reply are made in their order.

<tools>
{tools}
</tools>

{form}
Points are [x, y]: from 0 at the left edge of the screenshot to 1000 at the right one, from 0 at its top to 1000 at \
its bottom.

{advice}
"""


@dataclass(frozen=True)
class Call:
    """One call; what it needs is read with a reason for the model where it is not there."""

    name: str
    arguments: dict[str, Any]
    scale: Scale
    screen: Screen

    def text(self, key: str) -> str:
        value = self.arguments.get(key)
        if not isinstance(value, str):
            raise ActionError(f"{self.name} takes a text as {key}.")
        return writable(value)

    def number(self, key: str, default: float) -> float:
        value = self.arguments.get(key, default)
        if type(value) not in (int, float) or not abs(value) <= 1e6:
            raise ActionError(f"{self.name} takes a number as {key}.")
        return value

    def choice(self, key: str, *choices: Choice) -> Choice:
        """The first choice where nothing is said."""
        value = self.arguments.get(key, choices[0])
        if value not in choices:
            raise ActionError(f"{key} of {self.name} is one of {', '.join(choices)}.")
        return value

    def words(self, key: str) -> list[str]:
        value = self.arguments.get(key)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise ActionError(f"{self.name} takes a list of names as {key}.")
        return value

    def point(self, key: str) -> Point:
        if key not in self.arguments:
            raise ActionError(f"{self.name} takes a point as {key}.")
        return self.scale.point(self.screen, self.arguments[key])

    def perhaps(self, key: str) -> Point | None:
        """The point, where one is given."""
        return None if self.arguments.get(key) is None else self.point(key)


class ToolCalls(PointSpace):
    """A space of such replies. `form` shows the model a reply; `tools` are what it is told of the functions."""

    tools: Sequence[dict[str, Any]]
    form: str
    thought_form = "{}\n"

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        function = self.tools[0]["function"]["name"] if len(self.tools) == 1 else "one of the functions"
        tools = "\n".join(json.dumps(tool) for tool in self.tools)
        return _PROMPT.format(function=function, tools=tools, form=self.form, advice=ADVICE)

    def parse(self, reply: str, screen: Screen | None) -> Parsed:
        assert screen is not None
        begin = _end_of_thinking(reply)
        found = list(_CALL.finditer(reply, begin))
        if not found:
            raise ActionError("Format error: the reply holds no <tool_call>.")
        calls = [_read(match[1]) for match in found]
        actions = [
            action for name, arguments in calls for action in self.read(Call(name, arguments, self.scale, screen))
        ]
        head = _CALL.sub(" ", reply[:begin]) + reply[begin : found[0].start()]
        thought = " ".join(_THINK.sub(" ", head).split())
        return Parsed(thought.removeprefix(self.thought_form.partition("{}")[0]), tuple(actions))

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None) -> str:
        assert screen is not None
        calls = [call for action in actions for call in self.calls(action, screen)]
        blocks = [json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False) for name, arguments in calls]
        return self.thought_form.format(thought) + "\n".join(f"<tool_call>\n{block}\n</tool_call>" for block in blocks)

    @abc.abstractmethod
    def read(self, call: Call) -> Iterator[AnyAction]:
        """The actions that a call stands for; ActionError where it cannot be used."""

    @abc.abstractmethod
    def calls(self, action: AnyAction, screen: Screen) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and arguments of the calls by which this is done; CannotRenderError where there are none."""


def _end_of_thinking(reply: str) -> int:
    """Where calls are meant: one within `<think>` is weighed, unless it is the only one."""
    end = reply.find("</think>")
    return end if "<tool_call>" in reply[end:] else 0


def _read(text: str) -> tuple[str, dict[str, Any]]:
    try:
        call = parse_json(text)
        name, arguments = call["name"], call.get("arguments", {})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ActionError('Format error: a tool call is JSON such as {"name": "...", "arguments": {...}}.') from None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ActionError("Format error: the name of a call is a text and its arguments an object.")
    return name, arguments


def tool(name: str, description: str, required: str = "", **properties: tuple[str, str]) -> dict[str, Any]:
    """A function as models are told of it; a property is (JSON type, description), `required` are words."""
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind, "description": text} for key, (kind, text) in properties.items()},
        "required": required.split(),
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def no_words(action: AnyAction, space: str) -> CannotRenderError:
    """For an action that a space has no call for."""
    return CannotRenderError(f"{space} has no {type(action).__name__}")
