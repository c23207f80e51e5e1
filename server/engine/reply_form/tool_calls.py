"""Tool calls: the grammar that a reply with tools has, and the calls in what a reply has said so far."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from server.engine.reply_form.grammar import json_rule, text_rule
from server.engine.reply_form.tool_form import ToolForm


@dataclasses.dataclass(frozen=True)
class Tools:
    """The `functions` that a reply may call, by name with the schema of their arguments. `required`: it calls some.
    `only_one`: it calls no second one."""

    functions: Mapping[str, dict[str, Any]]
    required: bool = False
    only_one: bool = False
    strict: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Call:
    """`arguments` as they were written, up to where the reply ends if it is not `complete`."""

    name: str
    arguments: str
    complete: bool


def grammar(tools: Tools, form: ToolForm, body: str | None) -> str:
    """In Lark: calls, or where none is required text or the rule `body`."""
    begin, end = text_rule(form.begin, form.special), text_rule(form.end, form.special)
    functions = "\n".join(
        f"f{number}: {text_rule(name + form.middle, form.special)} {json_rule(schema, name not in tools.strict)}"
        for number, (name, schema) in enumerate(tools.functions.items())
    )
    names = " | ".join(f"f{number}" for number in range(len(tools.functions)))
    more = "" if tools.only_one or form.separator is None else f" ({text_rule(form.separator, ())} call)*"
    rules = [f"call: {begin} functions {end}", f"functions: {names}", functions]
    if tools.required:
        rules.append(f"start: call{more}")
    elif body is not None:
        rules += [f"start: body | call{more}", f"body: {body}"]
    else:
        trigger, special = form.trigger, dict(form.special)
        rest = text_rule(form.begin.lstrip()[len(trigger) :], form.special)
        hears = f"TEXT {text_rule(trigger, form.special)}"
        rules += ["TEXT: /(.|\\n)*/", f"start: TEXT | first{more}", f"first: hears {rest} functions {end}"]
        rules.append(f"hears: {hears}" if trigger in special else f"hears[lazy]: {hears}")
    return "\n".join(rules) + "\n"


def read_calls(text: str, form: ToolForm, final: bool) -> tuple[str, list[Call]]:
    """The text beside the calls, and the calls. What may become a call is no text before the reply is `final`."""
    begin, middle, end = (form.decoded(one) for one in (form.begin, form.middle, form.end))
    trigger = form.decoded(form.trigger) or begin
    at = text.find(trigger)
    if at < 0:
        return (text if final else text[: len(text) - _overlap(text, trigger)]).strip(), []
    content, calls, rest = text[:at].strip(), [], text[at:].lstrip()
    while rest.startswith(begin.lstrip()):
        rest = rest[len(begin.lstrip()) :]
        at = rest.find(middle or "{")  # which no name holds
        if at < 0:
            break
        name, rest = rest[:at], rest[at + len(middle) :]
        length, complete = _object(rest)
        calls.append(Call(name, rest[:length], complete))
        rest = rest[length:]
        if not rest.startswith(end):
            break
        rest = rest[len(end) :].lstrip()
    return content, calls


def _overlap(text: str, trigger: str) -> int:
    """Characters at the text's end that the trigger may begin with."""
    return next((n for n in range(min(len(trigger), len(text)), 0, -1) if text.endswith(trigger[:n])), 0)


def _object(text: str) -> tuple[int, bool]:
    """Length of the JSON object that `text` begins with, and whether it ends there."""
    try:
        return json.JSONDecoder().raw_decode(text)[1], True
    except (ValueError, RecursionError):
        return len(text), False
