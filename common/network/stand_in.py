"""What the stand-ins for models share: the OpenAI protocol around a function, and faults on demand."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse, Response

from common.network.serving import serve_app
from common.processes import listen

Messages = list[dict[str, Any]]
Reply = Callable[[Messages], str]
"""What comes next in a conversation."""
Fault = Literal["error", "rate_limit", "stall", "nonsense", "html", "cut"]
FAULTS: tuple[Fault, ...] = ("error", "rate_limit", "stall", "nonsense", "html", "cut")
_NONSENSE = (
    "",
    "As an AI model I cannot browse the internet.",
    "Whether this counts as SUCCESS depends on many things",
    "%PDF-1.4 ????",
    "SUCCESS or NOT SUCCESS?",
)


class CannotReplyError(ValueError):
    """The request makes no sense to this stand-in; the client gets HTTP 400 with this message."""


def create_app(
    model: str, reply: Callable[[Messages, int], str], fault_rate: float = 0.0, stall_s: float = 60.0, seed: int = 0
) -> FastAPI:
    """`POST /v1/chat/completions` answers `reply(messages, the request's seed)`; `GET /v1/models` names the model.

    A share `fault_rate` of the requests meets a fault instead: an error, a rate limit, a stall of `stall_s` seconds,
    nonsense, a page of HTML, or an answer that is cut off. `GET /fates` lists what came of each request.
    """
    app = FastAPI(title=model)
    app.state.fates = []
    rng = random.Random(seed)

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": model, "object": "model", "created": 0, "owned_by": "elcano"}]}

    @app.get("/fates")
    def fates() -> list[str]:
        return app.state.fates

    @app.post("/v1/chat/completions")
    async def complete(request: dict[str, Any]) -> Response:
        fault = rng.choice(FAULTS) if rng.random() < fault_rate else None
        app.state.fates.append(fault or "answered")
        if fault is not None and (response := await _fail(fault, model, stall_s, rng)) is not None:
            return response
        try:
            messages = request["messages"]
            text = await asyncio.to_thread(reply, messages, int(request.get("seed") or 0))
        except (CannotReplyError, KeyError, IndexError, TypeError) as error:
            message = str(error) if isinstance(error, CannotReplyError) else "not an OpenAI chat request"
            return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status_code=400)
        return JSONResponse(completion(model, text, messages))

    return app


def serve(app: FastAPI, port: int, host: str = "127.0.0.1") -> None:
    """Serve until stopped; one line says where."""
    listener = listen(port, host)
    print(f"{app.title} on http://{host}:{listener.getsockname()[1]}/v1", flush=True)
    serve_app(app, listener)


def completion(model: str, text: str, messages: Messages) -> dict[str, Any]:
    """The reply as OpenAI shapes it; tokens are counted as words."""
    prompt_tokens = sum(len(text_of(message).split()) for message in messages)
    completion_tokens = len(text.split())
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {
        "id": f"chatcmpl-{model}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, without its images."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


async def _fail(fault: Fault, model: str, stall_s: float, rng: random.Random) -> Response | None:
    """The response of a fault; None when it only made the client wait."""
    if fault == "error":
        return JSONResponse({"error": {"message": "overloaded"}}, status_code=rng.choice((500, 502, 503)))
    if fault == "rate_limit":
        return JSONResponse({"error": {"message": "slow down"}}, status_code=429, headers={"retry-after": "0.2"})
    if fault == "nonsense":
        return JSONResponse(completion(model, rng.choice(_NONSENSE), []))
    if fault == "html":
        return HTMLResponse("<html><body>Login required</body></html>")
    if fault == "cut":
        return Response('{"id": "chatcmpl-x", "choices": [{"mess', media_type="application/json")
    await asyncio.sleep(stall_s)
    return None
