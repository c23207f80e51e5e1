"""What clients are told when something goes wrong: one line and the status that fits."""

import json

from fastapi.exceptions import RequestValidationError

from data.errors import UserError
from server.sequence import DeadlineError, EngineBusyError, EngineDeadError, MemoryFullError
from server.service import ClientGoneError, ReloadingError

STATUS: dict[type[Exception], tuple[int, str]] = {
    UserError: (400, "invalid_request_error"),
    RequestValidationError: (400, "invalid_request_error"),
    DeadlineError: (408, "timeout_error"),
    ReloadingError: (409, "conflict_error"),
    EngineBusyError: (429, "overloaded_error"),
    ClientGoneError: (499, "client_gone"),
    MemoryFullError: (503, "overloaded_error"),
    EngineDeadError: (503, "server_error"),
    Exception: (500, "server_error"),
}


def error_body(error: Exception, kind: str) -> dict[str, dict[str, str]]:
    """One line, in the shape OpenAI clients read."""
    return {"error": {"message": _one_line(error), "type": kind}}


def error_event(error: Exception) -> str:
    """A server-sent event for a stream that broke."""
    kind = next(kind for one, (_, kind) in STATUS.items() if isinstance(error, one))
    return f"data: {json.dumps(error_body(error, kind))}\n\n"


def _one_line(error: Exception) -> str:
    if isinstance(error, RequestValidationError):
        text = "; ".join(f"{'.'.join(map(str, e['loc'][1:])) or 'body'}: {e['msg']}" for e in error.errors()[:3])
    else:
        text = str(error)
    return " ".join(text.encode(errors="replace").decode().split())[:1000] or type(error).__name__
