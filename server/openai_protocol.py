"""The OpenAI chat protocol: `POST /v1/chat/completions` with images by data URL, and `GET /v1/models`."""

import asyncio
import dataclasses
import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import fastapi
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from data.errors import UserError
from server.deadline import TimeoutS
from server.engine import Engine
from server.errors import error_event
from server.prompt import Prompt, build_prompt
from server.sequence import Completion
from server.service import Ask, Service, Started
from server.wire_images import WireImage, from_data_url


class ImageUrl(BaseModel):
    url: str


class Part(BaseModel):
    """One piece of a message's content."""

    type: Literal["text", "image_url"]
    text: str | None = None
    image_url: ImageUrl | None = None


class Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str | list[Part]


class ChatRequest(BaseModel):
    """The fields served here. `model` chooses a LoRA adapter when it is one's name, else it is not compared, since one
    server serves one model. `user` names a session, whose requests are best served by the same replica."""

    messages: list[Message] = Field(min_length=1)
    model: str = ""
    user: str = Field("", max_length=1024)
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: str | list[str] | None = None
    logprobs: bool = False
    return_token_ids: bool = False
    stream: bool = False
    n: int = Field(1, ge=1, le=16)
    timeout_s: TimeoutS | None = None


def openai_routes(service: Service) -> fastapi.APIRouter:
    """The routes under `/v1`."""
    router = fastapi.APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> dict[str, Any]:
        names = [service.model_name, *sorted(service.engine.model.adapters.names)]
        return {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "elcano"} for name in names]}

    @router.post("/chat/completions")
    async def chat(body: ChatRequest, request: fastapi.Request) -> fastapi.Response:
        ask = _ask(service, body)
        if body.stream:
            return StreamingResponse(await _start_stream(service, body, ask), media_type="text/event-stream")
        started = await service.start(ask)
        completions = request.state.completions = await service.until_gone(request, started)
        choices = [_choice(started, body, number, completion) for number, completion in enumerate(completions)]
        header = _header(service, started, "chat.completion")
        return JSONResponse(header | {"choices": choices, "usage": _usage(completions)})

    return router


def _ask(service: Service, body: ChatRequest) -> Ask:
    def build(engine: Engine) -> Prompt:
        images: list[WireImage] = []
        messages = [{"role": message.role, "content": _parts(message, images)} for message in body.messages]
        adapter = body.model if body.model in engine.model.adapters.names else ""
        return build_prompt(messages, images, engine.model, engine.cache, adapter)

    given = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "seed": body.seed,
        "max_new_tokens": body.max_completion_tokens or body.max_tokens,
    }
    params = dataclasses.replace(
        service.defaults, **{name: value for name, value in given.items() if value is not None}
    )
    stop = [body.stop] if isinstance(body.stop, str) else body.stop or []
    if len(stop) > 16 or not all(0 < len(one) <= 256 for one in stop):
        raise UserError("stop takes up to 16 strings of 1 to 256 characters")
    return Ask(build, params, body.n, stop, body.user or None, body.timeout_s)


def _parts(message: Message, images: list[WireImage]) -> list[dict[str, Any]]:
    """Chat template parts; the images met on the way are appended to `images`."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    parts: list[dict[str, Any]] = []
    for part in message.content:
        if part.type == "text" and part.text is not None:
            parts.append({"type": "text", "text": part.text})
        elif part.type == "image_url" and part.image_url is not None:
            images.append(from_data_url(part.image_url.url))
            parts.append({"type": "image"})
        else:
            raise UserError(f"a part of type {part.type!r} lacks its {part.type!r}")
    return parts


def _header(service: Service, started: Started, kind: str) -> dict[str, Any]:
    version = started.engine.model.weights_version
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": service.model_name,
        "system_fingerprint": version,
        "weights_version": version,
    }


def _usage(completions: Sequence[Completion]) -> dict[str, Any]:
    """The prompt counts once, however many replies it has."""
    prompt, reply = completions[0].prompt_tokens, sum(len(completion.token_ids) for completion in completions)
    cached = completions[0].cached_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply,
        "total_tokens": prompt + reply,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _choice(started: Started, body: ChatRequest, number: int, completion: Completion) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": number,
        "message": {"role": "assistant", "content": started.text(completion.token_ids)},
        "finish_reason": completion.finish_reason,
        "logprobs": None,
    }
    if body.logprobs:
        choice["logprobs"] = _logprobs(started, completion.token_ids, completion.logprobs)
    if body.logprobs or body.return_token_ids:
        choice["token_ids"] = completion.token_ids
    return choice


def _logprobs(started: Started, token_ids: Sequence[int], logprobs: Sequence[float]) -> dict[str, Any]:
    tokens = started.engine.model.processor.tokenizer.convert_ids_to_tokens(token_ids)
    pairs = zip(tokens, logprobs, strict=True)
    content = [{"token": token, "logprob": value, "bytes": None, "top_logprobs": []} for token, value in pairs]
    return {"content": content, "refusal": None}


@dataclasses.dataclass
class _Spoken:
    """What one streamed reply has said and sent so far."""

    token_ids: list[int] = dataclasses.field(default_factory=list)
    unsent: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    sent: str = ""

    def hear(self, token: int, logprob: float) -> None:
        self.token_ids.append(token)
        self.unsent.append((token, logprob))


async def _start_stream(service: Service, body: ChatRequest, ask: Ask) -> AsyncIterator[str]:
    """Queue the request, so that its errors still become a status code, and return its server-sent events."""
    loop, heard = asyncio.get_running_loop(), asyncio.Queue[tuple[int, int, float] | None]()

    def put(number: int, token: int, logprob: float) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, (number, token, logprob))

    started = await service.start(ask, on_token=put)
    done = asyncio.ensure_future(started.completions())
    done.add_done_callback(lambda _: heard.put_nowait(None))
    return _events(service, started, body, ask, heard, done)


async def _events(
    service: Service,
    started: Started,
    body: ChatRequest,
    ask: Ask,
    heard: asyncio.Queue[tuple[int, int, float] | None],
    done: asyncio.Future[list[Completion]],
) -> AsyncIterator[str]:
    header, spoken = _header(service, started, "chat.completion.chunk"), [_Spoken() for _ in range(body.n)]
    try:
        for number in range(body.n):
            yield _chunk(header, {"index": number, "delta": {"role": "assistant", "content": ""}})
        while (item := await heard.get()) is not None:
            number, token, logprob = item
            spoken[number].hear(token, logprob)
            text = started.text(spoken[number].token_ids)
            if _is_settled(text, spoken[number].sent, ask.stop):
                yield _chunk(header, _delta(started, body, number, spoken[number], text))
        completions = await done
        for number, completion in enumerate(completions):
            delta = _delta(started, body, number, spoken[number], started.text(completion.token_ids))
            usage = _usage(completions) if number == body.n - 1 else None
            yield _chunk(header, delta | {"finish_reason": completion.finish_reason}, usage)
    except Exception as error:  # the status is sent already: an event must say it
        yield error_event(error)
    finally:
        started.cancel()
        done.cancel()
    yield "data: [DONE]\n\n"


def _is_settled(text: str, sent: str, stops: Sequence[str]) -> bool:
    """Whether all of `text` may be sent: half a character, or what may be the beginning of a stop string, waits."""
    longest = max(map(len, stops), default=1) - 1
    tails = [text[-length:] for length in range(1, longest + 1)]
    pending = any(stop.startswith(tail) for stop in stops for tail in tails)
    return text.startswith(sent) and not text.endswith("\ufffd") and not pending


def _delta(started: Started, body: ChatRequest, number: int, spoken: _Spoken, text: str) -> dict[str, Any]:
    """A choice with what is new."""
    choice: dict[str, Any] = {"index": number, "delta": {"content": text[len(spoken.sent) :]}}
    tokens = [token for token, _ in spoken.unsent]
    if body.logprobs:
        choice["logprobs"] = _logprobs(started, tokens, [logprob for _, logprob in spoken.unsent])
    if body.logprobs or body.return_token_ids:
        choice["token_ids"] = tokens
    spoken.sent, spoken.unsent = text, []
    return choice


def _chunk(header: dict[str, Any], choice: dict[str, Any], usage: dict[str, Any] | None = None) -> str:
    choice = {"finish_reason": None, **choice}
    return f"data: {json.dumps(header | {'choices': [choice], 'usage': usage})}\n\n"
