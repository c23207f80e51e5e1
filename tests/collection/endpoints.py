"""Chat endpoints in a thread of the test: the stand-in judge with faults on demand, and one that refuses parameters."""

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fastapi
import uvicorn
from fastapi.responses import JSONResponse

from collection.judges.stand_in_judge import reply
from common.network.stand_in import completion, create_app
from common.processes import listen


@contextmanager
def serving(answer: Callable[..., str] | None = None, error_rate: float = 0.0, **faults: Any) -> Iterator[Any]:
    """The stand-in judge, or another `answer`. Yields an object with `url` (the OpenAI base URL) and `fates` (what came
    of each request so far)."""
    with in_a_thread(create_app("judge", answer or functools.partial(reply, error_rate=error_rate), **faults)) as state:
        yield state


@contextmanager
def picky(*refused: str, bare: bool = False, reply: str = "SUCCESS") -> Iterator[Any]:
    """Refuses parameters as newer OpenAI models do. Yields an object with `url`, `bodies` and `keys` (what came so
    far). With `bare`, refusals are a sentence without the fields that OpenAI's have."""
    app = fastapi.FastAPI()
    app.state.bodies, app.state.keys = [], []

    @app.post("/v1/chat/completions")
    async def complete(request: fastapi.Request) -> JSONResponse:
        body = await request.json()
        app.state.bodies.append(body)
        app.state.keys.append(request.headers.get("authorization"))
        for name in refused:
            if name in body:
                return JSONResponse({"error": _refusal(name, bare)}, status_code=400)
        return JSONResponse(completion("m", reply, []))

    with in_a_thread(app) as state:
        yield state


@contextmanager
def in_a_thread(app: fastapi.FastAPI) -> Iterator[Any]:
    """Yields the app's state, with its `url`."""
    listener = listen(0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    app.state.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    yield app.state
    server.should_exit = True
    thread.join(10)


def _refusal(name: str, bare: bool) -> dict[str, Any]:
    text = f"Unsupported parameter: '{name}' is not supported with this model."
    if name == "max_tokens":
        text += " Use 'max_completion_tokens' instead."
    if bare:
        return {"message": text}
    return {"message": text, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
