"""HTTP API: OpenWebVoyager's `/predict` and the OpenAI chat protocol over one engine.

    POST /predict               {"conversations": [{"role", "content" with <image>}], "images": [base64 PNG, ...]}
    POST /v1/chat/completions   messages with text and image_url (data URL) parts, stream or not
    GET  /v1/models, /health

Errors are one line, {"error": {"message", "type"}}: 400 for what the client can mend, 429 when too many wait.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from data.errors import UserError
from server.engine import EngineBusyError
from server.openai_protocol import openai_routes
from server.predict_protocol import predict_route
from server.service import ClientGoneError, Service

MAX_BODY_BYTES = 256 * 2**20


def create_app(service: Service, on_ready: Callable[[], None]) -> fastapi.FastAPI:
    """The application; `on_ready` is called once when it starts, the engine drained when it stops."""

    @contextlib.asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        on_ready()
        yield
        await asyncio.to_thread(service.engine.stop)

    app = fastapi.FastAPI(title="Elcano inference server", lifespan=lifespan)
    app.add_middleware(_LimitBody)
    app.include_router(predict_route(service))
    app.include_router(openai_routes(service))
    app.get("/health")(_health(service))
    for error, (status, kind) in _ERRORS.items():
        app.add_exception_handler(error, _handler(status, kind))
    return app


def _health(service: Service) -> Callable[[], Awaitable[JSONResponse]]:
    async def health() -> JSONResponse:
        engine = service.engine
        state = {
            "status": "ok" if engine.alive else "dead",
            "weights_version": engine.model.weights_version,
            "num_waiting": engine.num_waiting,
            "num_running": engine.num_running,
            "num_finished": engine.num_finished,
        }
        return JSONResponse(state, status_code=200 if engine.alive else 503)

    return health


_ERRORS: dict[type[Exception], tuple[int, str]] = {
    UserError: (400, "invalid_request_error"),
    RequestValidationError: (400, "invalid_request_error"),
    EngineBusyError: (429, "overloaded_error"),
    ClientGoneError: (499, "client_gone"),
    Exception: (500, "server_error"),
}


def error_body(error: Exception, kind: str) -> dict[str, dict[str, str]]:
    """One line, in the shape OpenAI clients read."""
    return {"error": {"message": _one_line(error), "type": kind}}


def _handler(status: int, kind: str) -> Callable[[fastapi.Request, Exception], Awaitable[JSONResponse]]:
    async def handle(_: fastapi.Request, error: Exception) -> JSONResponse:
        return JSONResponse(error_body(error, kind), status_code=status)

    return handle


def _one_line(error: Exception) -> str:
    if isinstance(error, RequestValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc'][1:])) or 'body'}: {e['msg']}" for e in error.errors()[:3])
    return " ".join(str(error).split()) or type(error).__name__


class _LimitBody:
    """Refuses bodies over `MAX_BODY_BYTES` before they are read into memory."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = dict(scope.get("headers", [])).get(b"content-length", b"0")
        if scope["type"] == "http" and int(length) > MAX_BODY_BYTES:
            error = UserError(f"the request is larger than {MAX_BODY_BYTES // 2**20} MiB")
            await JSONResponse(error_body(error, "invalid_request_error"), status_code=413)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
