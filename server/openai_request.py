"""OpenAI's chat request: the fields that are served, and those that are not, which are refused by name.

A field that is not served may still be sent with a value that changes nothing, and null is the same as no field: many
clients send all they know.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from server.bounded import Bounded, Items
from server.deadline import TimeoutS
from server.openai_messages import Message
from server.request_error import RequestError

MAX_TOP_LOGPROBS = 20
_MAX_STOPS, _MAX_STOP_CHARACTERS = 16, 256

# Every other field of OpenAI's request (openai 3.52), with the values of it that ask for nothing.
_NOT_SERVED: dict[str, tuple[Any, ...]] = {
    "audio": (),
    "frequency_penalty": (0,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "logit_bias": ({},),
    "metadata": ({},),
    "modalities": (["text"],),
    "moderation": (),
    "parallel_tool_calls": (True, False),
    "prediction": (),
    "presence_penalty": (0,),
    "prompt_cache_options": ({},),
    "prompt_cache_retention": ("in_memory",),
    "reasoning_effort": ("none",),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "verbosity": ("medium",),
    "web_search_options": (),
}


class StreamOptions(Bounded):
    """`include_usage`: one more event at the end counts the tokens."""

    model_config = ConfigDict(extra="forbid")

    include_usage: bool = False
    include_obfuscation: bool = False


class ChatRequest(Bounded):
    """The fields served here. `model` is empty, or a name that `/v1/models` lists, where a LoRA adapter's chooses it.

    `prompt_cache_key` or else `user` names a session, whose requests are best served by the same replica. Ours are
    `return_token_ids` and `timeout_s`.
    """

    model_config = ConfigDict(extra="allow")  # for `check` to name what is refused

    messages: Items[Message] = Field(min_length=1)
    model: str = ""
    user: str = Field("", max_length=1024)
    prompt_cache_key: str = Field("", max_length=1024)
    safety_identifier: str = ""  # who asks, which changes no reply
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | Items[str] = Field(default_factory=list)
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] = 0
    return_token_ids: bool = False
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    n: int = Field(1, ge=1, le=16)
    timeout_s: TimeoutS | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:
        return (
            {name: value for name, value in fields.items() if value is not None} if isinstance(fields, dict) else fields
        )

    @property
    def stops(self) -> list[str]:
        """Strings that end a reply."""
        return [self.stop] if isinstance(self.stop, str) else self.stop

    def check(self) -> None:
        """Raises `RequestError` for the first field that would not be honored."""
        for name, value in (self.model_extra or {}).items():
            _check_not_served(name, value)
        if self.stream_options.include_obfuscation:
            raise RequestError(
                "stream_options.include_obfuscation is not served; give false",
                "stream_options.include_obfuscation",
                "unsupported_value",
            )
        if self.top_logprobs and not self.logprobs:
            raise RequestError("top_logprobs needs logprobs: true", "top_logprobs")
        if None not in (self.max_tokens, self.max_completion_tokens) and self.max_tokens != self.max_completion_tokens:
            raise RequestError("max_tokens and max_completion_tokens disagree; give one of them", "max_tokens")
        if len(self.stops) > _MAX_STOPS or not all(0 < len(one) <= _MAX_STOP_CHARACTERS for one in self.stops):
            raise RequestError(
                f"stop takes up to {_MAX_STOPS} strings of 1 to {_MAX_STOP_CHARACTERS} characters", "stop"
            )
        for number, message in enumerate(self.messages):
            message.check(f"messages[{number}]")


def _check_not_served(name: str, value: Any) -> None:
    shown = name[:100]
    if name not in _NOT_SERVED:
        raise RequestError(f"unknown field {shown!r}", shown, "unknown_parameter")
    harmless = _NOT_SERVED[name]
    if any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in harmless):
        return
    advice = " or ".join(["leave it out", *(f"give {one!r}" for one in harmless)])
    code = "unsupported_value" if harmless else "unsupported_parameter"
    raise RequestError(f"{name} is not served here with this value; {advice}", name, code)
