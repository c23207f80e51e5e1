"""OpenAI's stream: a chat reply as server-sent events, token by token."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from server.engine.reply_form.tool_calls import Call
from server.engine.sampling import DrawnToken
from server.engine.sequence import Completion
from server.protocols.errors import error_event
from server.protocols.openai.reply import finish_reason, header, new_call, read_reply, tokens, usage
from server.protocols.openai.request import ChatRequest
from server.service import GenerationRequest, Service, Started
from server.streaming import Stream


@dataclasses.dataclass
class _Spoken:
    """What one streamed reply has said and sent so far."""

    token_ids: list[int] = dataclasses.field(default_factory=list)
    unsent: list[DrawnToken] = dataclasses.field(default_factory=list)
    sent: str = ""
    calls: list[Call] = dataclasses.field(default_factory=list)

    @property
    def known(self) -> tuple[str, list[Call]]:
        """What the client knows of it."""
        return self.sent, self.calls

    def hear(self, token: DrawnToken) -> None:
        self.token_ids.append(token.token_id)
        self.unsent.append(token)


async def start_stream(service: Service, body: ChatRequest, wanted: GenerationRequest) -> Stream:
    """Queue the request, so that its errors still become a status code, and return its server-sent events."""
    loop, heard = asyncio.get_running_loop(), asyncio.Queue[tuple[int, DrawnToken] | None]()

    def put(number: int, token: DrawnToken) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, (number, token))

    started = await service.start(wanted, on_token=put)
    done = asyncio.ensure_future(started.completions())
    done.add_done_callback(lambda _: heard.put_nowait(None))

    async def end() -> None:
        started.cancel()
        done.cancel()

    head = header(service, started, body, wanted.params, "chat.completion.chunk")
    return Stream(_events(head, started, body, heard, done), end)


async def _events(
    head: dict[str, Any],
    started: Started,
    body: ChatRequest,
    heard: asyncio.Queue[tuple[int, DrawnToken] | None],
    done: asyncio.Future[list[Completion]],
) -> AsyncIterator[str]:
    spoken = [_Spoken() for _ in range(body.n)]
    if body.stream_options.include_usage:
        head["usage"] = None  # of every event but the last
    try:
        for number in range(body.n):
            yield _event(head, {"index": number, "delta": {"role": "assistant", "content": "", "refusal": None}})
        while (item := await heard.get()) is not None:
            number, token = item
            spoken[number].hear(token)
            said = started.said(spoken[number].token_ids)
            text, calls = read_reply(started, body, said.strip(), final=False)
            if body.reply_form.tools and not body.tells_tokens and (text, calls) == spoken[number].known:
                continue
            if _is_settled(said, text, spoken[number].sent, body.stops):
                yield _event(head, _delta(started, body, number, spoken[number], text, calls))
        completions = await done
        for number, completion in enumerate(completions):
            text, calls = read_reply(started, body, started.text(completion.token_ids), final=True)
            delta = _delta(started, body, number, spoken[number], text, calls)
            yield _event(head, delta | {"finish_reason": finish_reason(body, completion, calls)})
        if body.stream_options.include_usage:
            yield _event(head | {"usage": usage(completions)})
    except Exception as error:  # the status is sent already: an event must say it
        yield error_event(error)
    yield "data: [DONE]\n\n"


def _is_settled(said: str, text: str, sent: str, stops: Sequence[str]) -> bool:
    """Whether all of it may be sent: half a character, or what may be the beginning of a stop string, waits."""
    longest = max(map(len, stops), default=1) - 1
    tails = [said[-length:] for length in range(1, longest + 1)]
    pending = any(stop.startswith(tail) for stop in stops for tail in tails)
    return text.startswith(sent) and not said.endswith("\ufffd") and not pending


def _delta(
    started: Started, body: ChatRequest, number: int, spoken: _Spoken, text: str, calls: list[Call]
) -> dict[str, Any]:
    """A choice with what is new."""
    delta: dict[str, Any] = {"content": text[len(spoken.sent) :]}
    if calls != spoken.calls:
        delta["tool_calls"] = [
            new_call(index, call)
            if index >= len(spoken.calls)
            else {"index": index, "function": {"arguments": call.arguments[len(spoken.calls[index].arguments) :]}}
            for index, call in enumerate(calls)
            if index >= len(spoken.calls) or call.arguments != spoken.calls[index].arguments
        ]
    new = {"index": number, "delta": delta, **tokens(started, body, spoken.unsent)}
    spoken.sent, spoken.calls, spoken.unsent = text, calls, []
    return new


def _event(head: dict[str, Any], *choices: dict[str, Any]) -> str:
    listed = [{"finish_reason": None, "logprobs": None, **choice} for choice in choices]
    return f"data: {json.dumps(head | {'choices': listed})}\n\n"
