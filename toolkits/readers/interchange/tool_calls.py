"""Calls of tools in the words of a turn, as Qwen's and Hermes' chat templates have them: a sample's turns are texts."""

import json
from typing import Any

_TOOLS = "# Tools\n\nYou may call one or more functions, whose signatures stand within <tools></tools>:"


def tool_call(name: str, arguments: Any) -> str:
    """What a model says to call one."""
    return f"<tool_call>\n{_json({'name': name, 'arguments': arguments})}\n</tool_call>"


def tool_response(text: str) -> str:
    """What it is told of it."""
    return f"<tool_response>\n{text}\n</tool_response>"


def tools_text(tools: Any) -> str:
    """What opens a conversation in which there are some."""
    listed = tools if isinstance(tools, list) else [tools]
    lines = "\n".join(tool if isinstance(tool, str) else _json(tool) for tool in listed)
    return f"{_TOOLS}\n<tools>\n{lines}\n</tools>"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
