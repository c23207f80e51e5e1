"""The stand-in judge in a thread of the test, with faults on demand."""

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from collection.endpoints.stand_in import create_app
from collection.judges.stand_in_judge import reply
from common.processes import listen


@contextmanager
def serving(answer: Callable[..., str] | None = None, error_rate: float = 0.0, **faults: Any) -> Iterator[Any]:
    """Yields an object with `url` (the OpenAI base URL) and `fates` (what came of each request so far)."""
    app = create_app("judge", answer or functools.partial(reply, error_rate=error_rate), **faults)
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
