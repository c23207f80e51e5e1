"""A local chat endpoint that refuses parameters as newer OpenAI models do, and keeps what it was sent."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import fastapi
import uvicorn
from fastapi.responses import JSONResponse

from common.processes import listen


@contextmanager
def picky(*refused: str, bare: bool = False, reply: str = "SUCCESS") -> Iterator[Any]:
    """Yields an object with `url` (the OpenAI base URL), `bodies` and `keys` (what came so far). With `bare`, refusals
    are a sentence without the fields that OpenAI's have."""
    app, state = fastapi.FastAPI(), SimpleNamespace(bodies=[], keys=[])

    @app.post("/v1/chat/completions")
    async def complete(request: fastapi.Request) -> JSONResponse:
        body = await request.json()
        state.bodies.append(body)
        state.keys.append(request.headers.get("authorization"))
        for name in refused:
            if name in body:
                return JSONResponse({"error": _refusal(name, bare)}, status_code=400)
        message = {"role": "assistant", "content": reply}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})

    listener = listen(0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    state.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    yield state
    server.should_exit = True
    thread.join(10)


def _refusal(name: str, bare: bool) -> dict[str, Any]:
    text = f"Unsupported parameter: '{name}' is not supported with this model."
    if name == "max_tokens":
        text += " Use 'max_completion_tokens' instead."
    if bare:
        return {"message": text}
    return {"message": text, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
