"""Tool form: how a checkpoint writes its calls of tools. Its own chat template says so, by what it makes of one.

Where a template knows no tools, they are described in the system's turn, and called in a form of ours.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_NAME, _ARGUMENTS = "elcano_probe", {"elcano_key": "elcano_value"}
_TOLD, _RESULT = "elcano_told", "elcano_result"
_TOOL = {
    "type": "function",
    "function": {"name": _NAME, "description": _TOLD, "parameters": {"type": "object", "properties": {}}},
}
_MARKER = re.compile(r"\s*(<[^\s<>]+>|\[[^\s\[\]]+\])")


@dataclasses.dataclass(frozen=True)
class ToolForm:
    """A call is `begin`, the tool's name, `middle`, its arguments as a JSON object, `end`. Special tokens may stand in
    these. Without a `separator` a reply has one call at most. `in_template`: the checkpoint's template writes tools,
    calls and what they answered."""

    begin: str
    middle: str
    end: str
    separator: str | None
    in_template: bool
    special: tuple[tuple[str, int], ...] = ()
    """The special tokens in it, which a decoded reply has not."""

    def decoded(self, text: str) -> str:
        """A part of the form as a decoded reply shows it."""
        for token, _ in self.special:
            text = text.replace(token, "")
        return text

    def call(self, name: str, arguments: str) -> str:
        """One call, in words."""
        return f"{self.begin}{name}{self.middle}{arguments}{self.end}"

    @property
    def trigger(self) -> str:
        """What in a reply that may be text begins a call: a mark where there is one."""
        found = _MARKER.match(self.begin)
        return found[0].lstrip() if found else self.begin


OWN = ToolForm('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>", "\n", in_template=False)


def tool_form(processor: Any) -> ToolForm:
    """That of the processor's chat template, of several of the one for tools; `OWN` where it has none that can be read
    off."""
    template = processor.chat_template
    if isinstance(template, dict):
        template = template.get("tool_use", template.get("default"))
    if not isinstance(template, str) or "tools" not in template:
        return OWN
    try:
        return _probed(processor, template) or OWN
    except Exception:  # a template may refuse what it does not know by any error
        return OWN


def described(tools: Sequence[dict[str, Any]]) -> str:
    """What a model is told of its tools where its template has no words for them."""
    listed = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    return (
        f"You can call these functions; each line is one, with its parameters as a JSON schema:\n{listed}\n"
        "To call a function, write its name and its arguments in this form, once for each call:\n"
        + OWN.call("NAME", "{ARGUMENTS}")
    )


def _probed(processor: Any, template: str) -> ToolForm | None:
    def render(messages: list[dict[str, Any]], prompt: bool, **options: Any) -> str:
        options |= {"chat_template": template, "add_generation_prompt": prompt, "tokenize": False}
        return str(processor.apply_chat_template(messages, **options))

    asked = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    one, two = _calls(1), _calls(2)
    answered = {"role": "tool", "tool_call_id": "probe0", "name": _NAME, "content": [{"type": "text", "text": _RESULT}]}
    if _TOLD not in render([asked], True, tools=[_TOOL]):
        return None
    if _RESULT not in render([asked, one, answered], False):
        return None
    prompt, single = render([asked], True), render([asked, one], False)
    spelled, before, middle, after = _cut(single)
    tokenizer = processor.tokenizer
    special = {token.content: number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    try:
        double = render([asked, two], False)
        _, _, _, between, _, after = _cut(double, 2)
        end = _common(between, after, special).rstrip()
        begin = between[len(end) :].lstrip()
        separator = between[len(end) : len(between) - len(begin)]
    except Exception:  # one call at most
        double, separator = single, None
        begin = before[len(_common(prompt, before, special)) :]
        end = after.partition(tokenizer.eos_token or "\0")[0].rstrip()
    inside = tuple((token, number) for token, number in special.items() if token in begin + middle + end)
    form = ToolForm(begin, middle, end, separator, True, inside)
    call = form.call(_NAME, spelled)
    as_written = call in single and (separator is None or call + separator + call in double)
    return form if begin and as_written else None


def _common(one: str, other: str, special: Iterable[str]) -> str:
    """What both begin with, no special token in part."""
    unit = re.compile("|".join([*map(re.escape, special), "."]), re.DOTALL)
    pairs = zip(unit.findall(one), unit.findall(other), strict=False)
    return "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _calls(number: int) -> dict[str, Any]:
    function = {"name": _NAME, "arguments": _ARGUMENTS}
    calls = [{"id": f"probe{i}", "type": "function", "function": function} for i in range(number)]
    return {"role": "assistant", "content": [{"type": "text", "text": ""}], "tool_calls": calls}


def _cut(text: str, number: int = 1) -> list[str]:
    """The text around names and arguments, after one piece that says what the arguments look like; an error where it
    does not hold as many calls in this order."""
    spelled = next(
        one for one in (json.dumps(_ARGUMENTS), json.dumps(_ARGUMENTS, separators=(",", ":"))) if one in text
    )
    pieces = re.split(f"{re.escape(_NAME)}|{re.escape(spelled)}", text)
    if len(pieces) != 1 + 2 * number:
        raise ValueError("calls in another order")
    return [spelled, *pieces]
