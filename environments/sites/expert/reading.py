"""What the teacher reads in the messages: the task and the newest page."""

import ast
import base64
import dataclasses
import functools
import re
import threading
from collections.abc import Sequence
from typing import Any

from common.network.stand_in import CannotReplyError, text_of

_TASK = re.compile(r"Now given a task: (.+?)  Please interact with \S+ and get the answer", re.DOTALL)
_LINE = re.compile(r"""^(\t*)\[(\d{1,9})\] (\w+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(.*)$""", re.MULTILINE)

_PARSING = threading.Lock()
"""CPython 3.11's parser, when threads use it at once, may end in a SystemError."""


class NotUnderstoodError(CannotReplyError):
    """The messages hold no task, no page, or a task the teacher does not know."""


@dataclasses.dataclass(frozen=True)
class Element:
    """One line of an accessibility tree."""

    label: int
    role: str
    name: str
    depth: int
    properties: str

    @property
    def selected(self) -> bool:
        return "selected: True" in self.properties


@dataclasses.dataclass(frozen=True)
class Page:
    """An accessibility tree, and the PNG of its screenshot where one was shown."""

    elements: Sequence[Element]
    screenshot: bytes = b""

    @property
    def title(self) -> str:
        """The page's own name, without the website's."""
        return self.elements[0].name.rpartition(" - ")[0]

    def find(self, roles: Sequence[str], name: str) -> Element | None:
        """The first element of one of these roles with exactly this name."""
        return next((element for element in self.elements if element.role in roles and element.name == name), None)

    def below(self, element: Element) -> list[Element]:
        """The elements inside this one."""
        inside = []
        for other in self.elements[self.elements.index(element) + 1 :]:
            if other.depth <= element.depth:
                break
            inside.append(other)
        return inside


def read_task(messages: Sequence[dict[str, Any]]) -> str:
    """The instruction that `data.conversation.build_chat` put into the first user message."""
    for message in messages:
        if message["role"] == "user" and (match := _TASK.search(text_of(message))):
            return match[1]
    raise NotUnderstoodError(
        "no user message says 'Now given a task: ...'; the embedded teacher wants the chat prompt: --prompt chat"
    )


def read_page(messages: Sequence[dict[str, Any]]) -> Page:
    """The accessibility tree and the screenshot in the last message."""
    lines = _LINE.findall(text_of(messages[-1]))
    if not lines:
        raise NotUnderstoodError(
            "the last message holds no accessibility tree, which the embedded teacher reads; for demonstrations at "
            "points collect by numbers (--action_space webvoyager), then rewrite: toolkits/convert_action_space.py"
        )
    elements = [Element(int(label), role, _unquoted(name), len(tabs), rest) for tabs, label, role, name, rest in lines]
    return Page(elements, _screenshot(messages[-1]))


@functools.lru_cache(1 << 16)
def _unquoted(name: str) -> str:
    with _PARSING:
        return ast.literal_eval(name)


def _screenshot(message: dict[str, Any]) -> bytes:
    """The last image of a message, b"" where it has none."""
    parts = message["content"] if isinstance(message["content"], list) else []
    images = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url" and "image_url" in part]
    return base64.b64decode(images[-1].partition(",")[2]) if images else b""
