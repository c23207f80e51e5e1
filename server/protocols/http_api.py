"""HTTP API: OpenWebVoyager's `/predict` and the OpenAI chat protocol over one engine.

    POST /predict               {"conversations": [{"role", "content" with <image>}], "images": [base64 PNG, ...]}
    POST /score                 the same with {"answers": [...]}: their log-probabilities
    POST /v1/chat/completions   messages with text and image_url (data URL) parts, stream or not
    POST /reload                {"model_name_or_path"}: other weights from now on
    GET  /v1/models, /v1/models/NAME, /health, /metrics

Errors are one line, {"error": {"message", "type", "param", "code"}}: 400 for what the client can mend, 404 for a model
that is not served, 408 past the deadline, 429 with Retry-After when too many wait, 503 with Retry-After when memory has
run out. Deadlines hold even if the engine hangs.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import fastapi
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from server.engine.sequence import EngineBusyError, MemoryFullError
from server.protocols.errors import KINDS, Kind, no_such_url, refusal
from server.protocols.metrics import ServiceMetrics, render
from server.protocols.openai.protocol import openai_routes
from server.protocols.predict_protocol import predict_routes
from server.service import Service

_STOP_S = 60.0  # for an engine that hangs; requests have been answered, or have run out of time, before


class ReloadRequest(BaseModel):
    """A checkpoint folder on the server's machine."""

    model_name_or_path: str


def create_app(service: Service, on_ready: Callable[[], None]) -> fastapi.FastAPI:
    """The application; `on_ready` is called once when it starts, the engine drained when it stops."""

    @contextlib.asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        on_ready()
        yield
        await asyncio.to_thread(service.engine.stop, _STOP_S)

    app = fastapi.FastAPI(title="Elcano inference server", lifespan=lifespan)
    app.include_router(predict_routes(service))
    app.include_router(openai_routes(service))
    app.get("/health")(_health(service))
    app.get("/metrics")(_metrics(service))
    app.post("/reload")(_reload(service))
    app.add_exception_handler(HTTPException, no_such_url)
    for error, kind in KINDS.items():
        app.add_exception_handler(error, _handler(service, kind))
    return app


def _health(service: Service) -> Callable[[], Awaitable[JSONResponse]]:
    async def health() -> JSONResponse:
        engine = service.engine
        status = "dead" if not engine.alive else "stuck" if service.is_stuck else "ok"
        state = {
            "status": status,
            "step_s": round(engine.step_s, 3),
            "weights_version": engine.model.weights_version,
            "num_waiting": engine.num_waiting,
            "num_running": engine.num_running,
            "num_finished": service.retired.finished + engine.stats.finished,
        }
        return JSONResponse(state, status_code=200 if status == "ok" else 503)

    return health


def _metrics(service: Service) -> Callable[[fastapi.Request], Awaitable[PlainTextResponse]]:
    async def metrics(request: fastapi.Request) -> PlainTextResponse:
        return render(ServiceMetrics(service, getattr(request.state, "responses", {})))

    return metrics


def _reload(service: Service) -> Callable[[ReloadRequest], Awaitable[dict[str, str]]]:
    async def reload(body: ReloadRequest) -> dict[str, str]:
        return {"weights_version": await service.reload(Path(body.model_name_or_path))}

    return reload


def _handler(service: Service, kind: Kind) -> Callable[[fastapi.Request, Exception], Awaitable[JSONResponse]]:
    async def handle(_: fastapi.Request, error: Exception) -> JSONResponse:
        passing = isinstance(error, EngineBusyError | MemoryFullError)
        return refusal(error, kind, {"retry-after": str(_retry_after_s(service))} if passing else None)

    return handle


def _retry_after_s(service: Service) -> int:
    """Until about half of the queue is served, judged by the replies so far."""
    engine, times = service.engine, service.engine.stats.total_s
    mean_s = times.sum / max(1, sum(times.counts))
    return max(1, min(60, math.ceil(mean_s * engine.num_waiting / (2 * engine.config.max_batch_size))))
