"""OpenAI's messages as the turns of a conversation.

Chat templates know `system`, `user` and `assistant`. A `developer` is OpenAI's newer name of the system; what a `tool`
(or `function`) answered is read as a user's turn; an assistant's tool calls of earlier turns as text, NAME(ARGUMENTS).
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict

from server.bounded import Bounded, Items
from server.request_error import RequestError

_ROLES = {"developer": "system", "tool": "user", "function": "user"}


class ImageUrl(Bounded):
    """A data URL. Images are read at the size that the model was trained with, so `detail` cannot be low."""

    model_config = ConfigDict(extra="forbid")

    url: str
    detail: Literal["auto", "high"] | None = None


class Part(Bounded):
    """One piece of a message's content."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text", "image_url", "refusal"]
    text: str | None = None
    refusal: str | None = None
    image_url: ImageUrl | None = None


class Function(Bounded):
    """What an assistant called, with its arguments as it wrote them."""

    name: str
    arguments: str


class ToolCall(Bounded):
    model_config = ConfigDict(extra="forbid")

    id: str = ""
    type: Literal["function"] = "function"
    function: Function


class Message(Bounded):
    """One turn. The content of an assistant may be null."""

    model_config = ConfigDict(extra="allow")  # for `check` to name what is refused

    role: Literal["developer", "system", "user", "assistant", "tool", "function"]
    content: str | Items[Part] | None = None
    refusal: str | None = None
    tool_calls: Items[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None

    def check(self, where: str) -> None:
        """Raises `RequestError` for what would not be honored; `where` is the message's place in the request."""
        for name, value in (self.model_extra or {}).items():
            if value not in (None, [], {}) and not (name == "name" and self.role in ("tool", "function")):
                param = f"{where}.{name[:100]}"
                raise RequestError(f"{param} is not served here; leave it out", param, "unsupported_parameter")
        if self.role != "assistant" and self.content is None:
            raise RequestError(f"{where}.content: only an assistant's may be null", f"{where}.content")
        if self.role != "assistant" and (self.tool_calls or self.function_call or self.refusal):
            raise RequestError(f"{where}: only an assistant calls tools or refuses", where)
        for number, part in enumerate(self.content if isinstance(self.content, list) else []):
            param = f"{where}.content[{number}]"
            if getattr(part, part.type) is None:
                raise RequestError(f"a part of type {part.type!r} lacks its {part.type!r}", f"{param}.{part.type}")
            if sum(one is not None for one in (part.text, part.refusal, part.image_url)) > 1:
                raise RequestError(f"a part of type {part.type!r} holds something else too", param)


def read_messages(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], list[str]]:
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
        calls = [call.function for call in message.tool_calls or ()] + [message.function_call]
        texts += [f"{call.name}({call.arguments})" for call in calls if call is not None]
        said = "\n".join(text for text in texts if text)
        if said or (message.role == "assistant" and not content):
            content.append(_text(said))
        turns.append({"role": _ROLES.get(message.role, message.role), "content": content})
    return turns, urls


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
