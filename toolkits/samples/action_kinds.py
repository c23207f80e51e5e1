"""Which of our canonical actions a reply says, whatever its action space."""

import re

from data.action_spaces import NUMBERS, action_space, action_space_names
from data.actions.action import ActionError, parse_reply
from data.actions.screen import Screen

_TOOL = re.compile(r'<tool_call>\s*\{"name": "(?:computer_use", "arguments": \{"action": ")?(\w+)"')
_BROWSERGYM = re.compile(r"^\s*(?:#[^\n]*\n)*\s*(?:Action: )?(\w+)\(", re.MULTILINE)
_SPACES = [NUMBERS, *(name for name in action_space_names() if name != NUMBERS)]


def action_kinds(reply: str, screen: Screen) -> list[str]:
    """The kinds (`ClickAt`, `Type`, ...) in the first action space that reads the reply; where none does, the name that
    the reply calls, or "unreadable"."""
    for name in _SPACES:
        try:
            return [type(action).__name__ for action in action_space(name).parse(reply, screen).actions]
        except ActionError:
            continue
    return [action_name(reply)]


def action_name(reply: str) -> str:
    """The action's name, of our grammar, or written as a function or tool call; "unreadable" when it is neither."""
    try:
        return type(parse_reply(reply).action).__name__
    except ActionError:
        call = _TOOL.search(reply) or _BROWSERGYM.search(reply)
        return call[1] if call else "unreadable"
