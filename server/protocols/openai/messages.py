"""OpenAI's messages as the turns of a conversation.

A `developer` is OpenAI's newer name of the system. A chat template that knows tools is given an assistant's calls and
what a `tool` answered. For other templates what was answered is a user's turn, and a call is text, as the form of the
request's tools has it; in a request without any, NAME(ARGUMENTS).
"""

import contextlib
import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from server.engine.reply_form.request_error import RequestError
from server.engine.reply_form.tool_form import ToolForm
from server.protocols.bounded import Bounded, Exact, Items

_ROLES = {"developer": "system", "tool": "user", "function": "user"}


class ImageUrl(Exact):
    """A data URL. Images are read at the size that the model was trained with, whatever the `detail`."""

    url: str
    detail: Literal["auto", "low", "high", "original"] | None = None


class Part(Exact):
    """One piece of a message's content."""

    model_config = ConfigDict(extra="allow")  # for `check` to name what is refused

    type: Literal["text", "image_url", "refusal"]
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | None = None
    prompt_cache_breakpoint: Any = None  # what caches keep changes no reply
    cache_control: Any = None
    uuid: str | None = None

    @field_validator("image_url", mode="before")
    @classmethod
    def _address_alone(cls, value: Any) -> Any:
        """As vLLM takes it, too."""
        return {"url": value} if isinstance(value, str) else value


class Function(Exact):
    """What an assistant called, with its arguments as it wrote them."""

    name: str
    arguments: str


class ToolCall(Exact):
    id: str = ""
    index: int | None = None
    type: Literal["function"] = "function"
    function: Function


class Message(Bounded):
    """One turn. A content that is null or empty says nothing; chat templates show nobody's `name`."""

    model_config = ConfigDict(extra="allow")  # for `check` to name what is refused

    name: str | None = None
    cache_control: Any = None
    role: Literal["developer", "system", "user", "assistant", "tool", "function"]
    content: str | Items[Part] | None = None
    refusal: str | None = None
    tool_calls: Items[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None

    def check(self, where: str) -> None:
        """Raises `RequestError` for what would not be honored; `where` is the message's place in the request."""
        _check_unserved(self, where)
        if self.role != "assistant" and (self.tool_calls or self.function_call or self.refusal):
            raise RequestError(f"{where}: only an assistant calls tools or refuses", where)
        for number, part in enumerate(self.content if isinstance(self.content, list) else []):
            param = f"{where}.content[{number}]"
            _check_unserved(part, param)
            if getattr(part, part.type) is None:
                raise RequestError(f"a part of type {part.type!r} lacks its {part.type!r}", f"{param}.{part.type}")
            if sum(bool(one) for one in (part.text, part.refusal, part.image_url)) > 1:
                raise RequestError(f"a part of type {part.type!r} holds something else too", param)


def _check_unserved(model: BaseModel, where: str) -> None:
    """Raises `RequestError` for a field that is not served and says something."""
    for name, value in (model.model_extra or {}).items():
        if value not in (None, "", [], {}):
            param = f"{where}.{name[:100]}"
            raise RequestError(f"{param} is not served here; leave it out", param, "unsupported_parameter")


def read_messages(
    messages: Sequence[Message], form: ToolForm, has_tools: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Chat template messages, {"role", "content": [{"type": "text", "text"} | {"type": "image"}]}, and the addresses of
    their images in order."""
    turns, urls = [], []
    for message in messages:
        content: list[dict[str, Any]] = []
        for part in message.content if isinstance(message.content, list) else []:
            if part.image_url is not None:
                urls.append(part.image_url.url)
                content.append({"type": "image"})
            else:
                content.append(_text(part.text or part.refusal or ""))
        texts = [message.content] if isinstance(message.content, str) else []
        texts += [message.refusal] if message.refusal else []
        calls = list(message.tool_calls or ())
        calls += [ToolCall(function=message.function_call)] if message.function_call is not None else []
        if not form.in_template:
            texts += [_said(call.function, form, has_tools) for call in calls]
        said = "\n".join(text for text in texts if text)
        if said or not content:
            content.append(_text(said))
        turns.append({"role": _ROLES.get(message.role, message.role), "content": content})
        if form.in_template and calls:
            turns[-1]["tool_calls"] = [_structured(call) for call in calls]
        if form.in_template and message.role in ("tool", "function") and not any("text" not in one for one in content):
            turns[-1] |= {"role": "tool", "tool_call_id": message.tool_call_id or "", "name": message.name or ""}
    return turns, urls


def with_system(turns: Sequence[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The turns with `text` at the end of the system's, which is the first if there is one."""
    if turns and turns[0]["role"] == "system":
        first, others = turns[0], turns[1:]
        return [{**first, "content": [*first["content"], _text("\n\n" + text)]}, *others]
    return [{"role": "system", "content": [_text(text)]}, *turns]


def _said(function: Function, form: ToolForm, has_tools: bool) -> str:
    return form.call(function.name, function.arguments) if has_tools else f"{function.name}({function.arguments})"


def _structured(call: ToolCall) -> dict[str, Any]:
    """As templates take it: arguments are an object, or as they are where they are none."""
    arguments: Any = call.function.arguments
    with contextlib.suppress(ValueError, RecursionError):
        read = json.loads(arguments)
        arguments = read if isinstance(read, dict) else arguments
    return {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": arguments}}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
