"""OpenAI's stream: a chat reply as server-sent events, token by token."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from server.errors import error_event
from server.openai_reply import header, tokens, usage
from server.openai_request import ChatRequest
from server.sampling import DrawnToken
from server.sequence import Completion
from server.service import GenerationRequest, Service, Started
from server.streaming import Stream


@dataclasses.dataclass
class _Spoken:
    """What one streamed reply has said and sent so far."""

    token_ids: list[int] = dataclasses.field(default_factory=list)
    unsent: list[DrawnToken] = dataclasses.field(default_factory=list)
    sent: str = ""

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
            if _is_settled(said, spoken[number].sent, body.stops):
                yield _event(head, _delta(started, body, number, spoken[number], said.strip()))
        completions = await done
        for number, completion in enumerate(completions):
            delta = _delta(started, body, number, spoken[number], started.text(completion.token_ids))
            yield _event(head, delta | {"finish_reason": completion.finish_reason})
        if body.stream_options.include_usage:
            yield _event(head | {"usage": usage(completions)})
    except Exception as error:  # the status is sent already: an event must say it
        yield error_event(error)
    yield "data: [DONE]\n\n"


def _is_settled(said: str, sent: str, stops: Sequence[str]) -> bool:
    """Whether all of it may be sent: half a character, or what may be the beginning of a stop string, waits."""
    longest = max(map(len, stops), default=1) - 1
    tails = [said[-length:] for length in range(1, longest + 1)]
    pending = any(stop.startswith(tail) for stop in stops for tail in tails)
    return said.strip().startswith(sent) and not said.endswith("\ufffd") and not pending


def _delta(started: Started, body: ChatRequest, number: int, spoken: _Spoken, text: str) -> dict[str, Any]:
    """A choice with what is new."""
    new = {"index": number, "delta": {"content": text[len(spoken.sent) :]}, **tokens(started, body, spoken.unsent)}
    spoken.sent, spoken.unsent = text, []
    return new


def _event(head: dict[str, Any], *choices: dict[str, Any]) -> str:
    listed = [{"finish_reason": None, "logprobs": None, **choice} for choice in choices]
    return f"data: {json.dumps(head | {'choices': listed})}\n\n"
