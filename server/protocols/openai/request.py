"""OpenAI's chat request: the fields that are served. Others are refused by name where they ask for something
(`openai_neutral.py`); null is the same as no field."""

import functools
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from server.deadline import TimeoutS
from server.engine.reply_form.request_error import RequestError
from server.protocols.bounded import Exact, Items
from server.protocols.openai.messages import Message
from server.protocols.openai.neutral import check_neutral
from server.protocols.openai.tools import (
    MAX_TOOLS,
    ReplyForm,
    ResponseFormat,
    StructuredOutputs,
    Tool,
    read_body,
    read_tools,
)

MAX_TOP_LOGPROBS = 20
_MAX_STOPS, _MAX_STOP_CHARACTERS = 16, 256

Unset = BeforeValidator(lambda value: None if type(value) is int and value == -1 else value)
"""-1 is no value: no seed in vLLM and llama.cpp, no limit of its own on the reply in llama.cpp and LM Studio."""


class StreamOptions(Exact):
    """`include_usage`: one more event at the end counts the tokens."""

    include_usage: bool = False
    include_obfuscation: bool = False  # nothing here needs to be hidden
    continuous_usage_stats: Literal[False] = False


class ChatRequest(Exact):
    """The fields served here. `model` is empty, or a name that `/v1/models` lists, where a LoRA adapter's chooses it.

    `prompt_cache_key` or else `user` names a session, whose requests are best served by the same replica. vLLM's are
    `top_k` (0 or -1: all), `min_tokens`, `return_token_ids`, `structured_outputs` and the older `guided_...`; ours is
    `timeout_s`.
    """

    model_config = ConfigDict(extra="allow")  # for `check` to name what is refused

    messages: Items[Message] = Field(min_length=1)
    model: str = ""
    user: str = Field("", max_length=1024)
    prompt_cache_key: str = Field("", max_length=1024)
    safety_identifier: str = ""  # who asks, which changes no reply
    temperature: float | None = None
    top_p: Annotated[float, Field(ge=0)] | None = None  # 0 leaves the likeliest token
    top_k: Annotated[int, Field(ge=-1)] | None = None
    min_tokens: int | None = Field(None, ge=0)
    seed: Annotated[int | None, Unset] = None
    max_tokens: Annotated[int | None, Field(ge=1), Unset] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1), Unset] = None
    stop: str | Items[str] = Field(default_factory=list)
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=MAX_TOP_LOGPROBS)] = 0
    return_token_ids: bool = False
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    n: int = Field(1, ge=1, le=16)
    timeout_s: TimeoutS | None = None
    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS, fail_fast=True)] = Field(default_factory=list)
    tool_choice: Any = None
    parallel_tool_calls: bool = True
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, Any] | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None

    @property
    def stops(self) -> list[str]:
        """Strings that end a reply."""
        return [self.stop] if isinstance(self.stop, str) else self.stop

    @property
    def tells_tokens(self) -> bool:
        """Whether a choice names its tokens."""
        return self.logprobs or self.return_token_ids

    @functools.cached_property
    def reply_form(self) -> ReplyForm:
        """What form is asked for; raises `RequestError`."""
        guided = {"guided_json": self.guided_json, "guided_regex": self.guided_regex}
        guided |= {"guided_choice": self.guided_choice}
        body = read_body(self.response_format, self.structured_outputs, guided)
        tools, told, is_named = read_tools(self.tools, self.tool_choice, self.parallel_tool_calls)
        if tools is not None and body is not None and body.schema is None:
            raise RequestError(f"{body.param} and tools do not go together; give response_format", body.param)
        return ReplyForm(body, tools, told, is_named)

    def check(self) -> None:
        """Raises `RequestError` for the first field that would not be honored."""
        for name, value in (self.model_extra or {}).items():
            check_neutral(name, value)
        if self.top_logprobs and not self.logprobs:
            raise RequestError("top_logprobs needs logprobs: true", "top_logprobs")
        if None not in (self.max_tokens, self.max_completion_tokens) and self.max_tokens != self.max_completion_tokens:
            raise RequestError("max_tokens and max_completion_tokens disagree; give one of them", "max_tokens")
        if len(self.stops) > _MAX_STOPS or not all(0 < len(one) <= _MAX_STOP_CHARACTERS for one in self.stops):
            raise RequestError(
                f"stop takes up to {_MAX_STOPS} strings of 1 to {_MAX_STOP_CHARACTERS} characters", "stop"
            )
        _ = self.reply_form
        for number, message in enumerate(self.messages):
            message.check(f"messages[{number}]")
