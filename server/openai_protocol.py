"""The OpenAI chat protocol: `POST /v1/chat/completions` with images by data URL, and `GET /v1/models`."""

import asyncio
import dataclasses
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any, Literal

import fastapi
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from data.errors import UserError
from server.engine import Completion
from server.prompt import Prompt, build_prompt
from server.sampling import SamplingParams
from server.service import Service
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
    """The fields served here; `model` is not compared, since one server serves one model."""

    messages: list[Message] = Field(min_length=1)
    model: str = ""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool = False
    stream: bool = False
    n: Literal[1] = 1


def openai_routes(service: Service) -> fastapi.APIRouter:
    """The routes under `/v1`."""
    router = fastapi.APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": service.model_name, "object": "model", "owned_by": "elcano"}]}

    @router.post("/chat/completions")
    async def chat(body: ChatRequest, request: fastapi.Request) -> fastapi.Response:
        params = _params(service.defaults, body)
        if body.stream:
            return StreamingResponse(await _start_stream(service, body, params), media_type="text/event-stream")
        completion = await service.complete(request, lambda: _prompt(service, body), params)
        return JSONResponse(_chat_completion(service, body, completion))

    return router


def _params(defaults: SamplingParams, body: ChatRequest) -> SamplingParams:
    given = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "seed": body.seed,
        "max_new_tokens": body.max_completion_tokens or body.max_tokens,
    }
    return dataclasses.replace(defaults, **{name: value for name, value in given.items() if value is not None})


def _prompt(service: Service, body: ChatRequest) -> Prompt:
    images: list[WireImage] = []
    messages = [{"role": message.role, "content": _parts(message, images)} for message in body.messages]
    return build_prompt(messages, images, service.engine.model, service.engine.cache)


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


def _header(service: Service, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": service.model_name,
        "weights_version": service.engine.model.weights_version,
    }


def _usage(completion: Completion) -> dict[str, int]:
    prompt, reply = completion.prompt_tokens, len(completion.token_ids)
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}


def _chat_completion(service: Service, body: ChatRequest, completion: Completion) -> dict[str, Any]:
    model = service.engine.model
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": model.decode_text(completion.token_ids)},
        "finish_reason": completion.finish_reason,
        "logprobs": None,
    }
    if body.logprobs:
        tokens = model.processor.tokenizer.convert_ids_to_tokens(completion.token_ids)
        pairs = zip(tokens, completion.logprobs, strict=True)
        content = [{"token": token, "logprob": value, "bytes": None, "top_logprobs": []} for token, value in pairs]
        choice |= {"logprobs": {"content": content, "refusal": None}, "token_ids": completion.token_ids}
    return _header(service, "chat.completion") | {"choices": [choice], "usage": _usage(completion)}


async def _start_stream(service: Service, body: ChatRequest, params: SamplingParams) -> AsyncIterator[str]:
    """Queue the request, so that its errors still become a status code, and return its server-sent events."""
    loop, tokens = asyncio.get_running_loop(), asyncio.Queue[int | None]()

    def put(token: int | None) -> None:
        loop.call_soon_threadsafe(tokens.put_nowait, token)

    future = await service.submit(lambda: _prompt(service, body), params, on_token=put)
    future.add_done_callback(lambda _: tokens.put_nowait(None))
    return _events(service, future, tokens)


async def _events(
    service: Service, future: asyncio.Future[Completion], tokens: asyncio.Queue[int | None]
) -> AsyncIterator[str]:
    header, token_ids, sent = _header(service, "chat.completion.chunk"), [], ""
    try:
        yield _chunk(header, {"role": "assistant", "content": ""})
        while (token := await tokens.get()) is not None:
            token_ids.append(token)
            text = service.engine.model.decode_text(token_ids)
            if text.startswith(sent) and not text.endswith("\ufffd"):  # half a character waits for its other half
                yield _chunk(header, {"content": text[len(sent) :]})
                sent = text
        completion = future.result()
        text = service.engine.model.decode_text(token_ids)
        yield _chunk(
            header, {"content": text[len(sent) :]}, finish_reason=completion.finish_reason, usage=_usage(completion)
        )
        yield "data: [DONE]\n\n"
    finally:
        future.cancel()


def _chunk(
    header: dict[str, Any], delta: dict[str, str], finish_reason: str | None = None, usage: dict[str, int] | None = None
) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps(header | {'choices': [choice], 'usage': usage})}\n\n"
