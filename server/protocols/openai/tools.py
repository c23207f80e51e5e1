"""OpenAI's `tools`, `tool_choice` and `response_format`, and vLLM's spellings of the latter: what form a reply is to
have."""

import contextlib
import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from server.engine.reply_form.grammar import json_rule, regex_rule, text_rule
from server.engine.reply_form.request_error import RequestError
from server.engine.reply_form.tool_calls import Tools, grammar
from server.engine.reply_form.tool_form import ToolForm
from server.protocols.bounded import Exact

MAX_TOOLS, _MAX_TOLD = 128, 2**18
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_OBJECT = {"type": "object"}


class FunctionDefinition(Exact):
    """A function; without `parameters` it takes any object."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Exact):
    type: Literal["function"]
    function: FunctionDefinition


class JSONSchema(Exact):
    """`strict` changes nothing: a schema is always kept to."""

    name: str = ""
    description: str | None = None
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    strict: bool | None = None


class ResponseFormat(Exact):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JSONSchema | None = None


class StructuredOutputs(Exact):
    """vLLM's; one of them."""

    json_: dict[str, Any] | str | None = Field(None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    json_object: bool | None = None


@dataclasses.dataclass(frozen=True)
class Body:
    """What a reply's text must be: JSON of a schema, what a regular expression matches, or one of some texts. `param`
    is the field that says so."""

    param: str
    schema: dict[str, Any] | None = None
    regex: str | None = None
    choice: Sequence[str] = ()

    @property
    def rule(self) -> str:
        if self.schema is not None:
            return json_rule(self.schema)
        if self.regex is not None:
            return regex_rule(self.regex)
        return " | ".join(text_rule(one, ()) for one in self.choice)


@dataclasses.dataclass(frozen=True)
class ReplyForm:
    """What a request asks of the form of its reply."""

    body: Body | None = None
    tools: Tools | None = None
    told: tuple[dict[str, Any], ...] = ()
    """The tools as the chat template is given them."""
    is_named: bool = False
    """Whether the request names the function to call."""

    @property
    def is_bound(self) -> bool:
        """Whether some replies are not of this form."""
        return self.body is not None or self.tools is not None

    @property
    def param(self) -> str:
        """The field that asked for it."""
        return self.body.param if self.body is not None and self.tools is None else "tools"

    def grammar(self, form: ToolForm) -> str:
        """In Lark, for the tool form of a model."""
        body = None if self.body is None else self.body.rule
        return f"start: {body}\n" if self.tools is None else grammar(self.tools, form, body)


def read_body(
    response_format: ResponseFormat | None, structured: StructuredOutputs | None, guided: dict[str, Any]
) -> Body | None:
    """What the text must be, by whichever field says so; `guided` are vLLM's older ones by name.

    Raises:
        RequestError: two of them do, or one is incomplete.
    """
    found: list[Body] = []
    if response_format is not None and response_format.type == "json_object":
        found.append(Body("response_format", schema=_OBJECT))
    if response_format is not None and response_format.type == "json_schema":
        if response_format.json_schema is None:
            raise RequestError("response_format lacks its json_schema", "response_format.json_schema")
        schema = response_format.json_schema.schema_
        found.append(Body("response_format", schema=_OBJECT if schema is None else schema))
    named = {f"guided_{name}": guided.get(f"guided_{name}") for name in ("json", "regex", "choice")}
    if structured is not None:
        fields = {"json": structured.json_, "regex": structured.regex, "choice": structured.choice}
        named |= {f"structured_outputs.{name}": value for name, value in fields.items()}
        if structured.json_object:
            found.append(Body("structured_outputs.json_object", schema=_OBJECT))
    found += [_body(param, value) for param, value in named.items() if value is not None]
    if len(found) > 1:
        raise RequestError(f"{found[0].param} and {found[1].param} both say what the reply is", found[1].param)
    return found[0] if found else None


def _body(param: str, value: Any) -> Body:
    if param.endswith("regex"):
        return Body(param, regex=value)
    if param.endswith("choice"):
        if not value or not all(value):
            raise RequestError(f"{param} takes a list of texts", param)
        return Body(param, choice=value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        raise RequestError(f"{param} is not a JSON schema", param)
    return Body(param, schema=value)


def read_tools(
    tools: Sequence[Tool], choice: Any, parallel: bool | None
) -> tuple[Tools | None, tuple[dict[str, Any], ...], bool]:
    """What may be called, the tools as templates take them, and whether one is named. None and nothing: no tools, or
    `choice` is none.

    Raises:
        RequestError: a name is odd or there twice, or `choice` is none of OpenAI's or names no tool.
    """
    names = [tool.function.name for tool in tools]
    for number, name in enumerate(names):
        if not _NAME.fullmatch(name) or name in names[:number]:
            param = f"tools[{number}].function.name"
            raise RequestError(f"{param} must be 1 to 64 of a-z, A-Z, 0-9, _ . - and be there once", param)
    if sum(len(tool.function.description or "") for tool in tools) > _MAX_TOLD:
        raise RequestError(f"the tools' descriptions have more than {_MAX_TOLD} characters", "tools")
    mode, wanted = _choice(choice, names)
    if mode == "none" or not tools:
        return None, (), False
    functions = {tool.function.name: tool.function for tool in tools if wanted is None or tool.function.name in wanted}
    schemas = {name: _arguments(function) for name, function in functions.items()}
    strict = frozenset(name for name, function in functions.items() if function.strict)
    is_named = mode == "named"
    told = tuple(tool.model_dump(exclude_none=True) for tool in tools)
    return Tools(schemas, mode != "auto", is_named or parallel is False, strict), told, is_named


def _arguments(function: FunctionDefinition) -> dict[str, Any]:
    schema = function.parameters or _OBJECT
    return schema if "$ref" in schema else {**schema, "type": "object"}


def _choice(choice: Any, names: Sequence[str]) -> tuple[str, list[str] | None]:
    """none, auto, required or named, and the tools that it is about."""
    if choice is None:
        return "auto", None
    if choice in ("none", "auto", "required"):
        if choice == "required" and not names:
            raise RequestError("tool_choice: required, but there are no tools", "tool_choice")
        return choice, None
    mode, wanted, known = "", [], False
    with contextlib.suppress(TypeError, KeyError, IndexError):
        if choice["type"] == "allowed_tools":
            mode, allowed = choice["allowed_tools"]["mode"], choice["allowed_tools"]["tools"]
            wanted = [tool["function"]["name"] for tool in allowed]
        else:
            mode, wanted = "named", [choice["function"]["name"]]
        known = mode in ("auto", "required", "named") and choice["type"] in ("function", "allowed_tools")
    if not known:
        raise RequestError("tool_choice is none, auto, required or a function's name in OpenAI's form", "tool_choice")
    if not wanted or not all(isinstance(one, str) and one in names for one in wanted):
        raise RequestError(f"tool_choice names a function that is not among the tools: {wanted!r:.100}", "tool_choice")
    return mode, wanted
