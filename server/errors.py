"""What clients are told when something goes wrong: one line and the status that fits, in OpenAI's form."""

import dataclasses
import json
import re

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from common.errors import UserError
from common.limits import LimitError
from server.request_error import RequestError, UnknownModelError
from server.sequence import DeadlineError, EngineBusyError, EngineDeadError, MemoryFullError
from server.service import ReloadingError
from server.streaming import ClientGoneError

_NO_FIELD = re.compile(r"\W|^(str|int|float|bool)$")  # the names of a union's branches stand between those of fields


@dataclasses.dataclass(frozen=True)
class Kind:
    """How an error is answered: `type` for people, `code` for programs; an error may bring its own code."""

    status: int
    type: str
    code: str | None = None


KINDS: dict[type[Exception], Kind] = {
    UnknownModelError: Kind(404, "invalid_request_error", "model_not_found"),
    UserError: Kind(400, "invalid_request_error"),
    RequestValidationError: Kind(400, "invalid_request_error"),
    DeadlineError: Kind(408, "timeout_error", "timeout"),
    ReloadingError: Kind(409, "conflict_error"),
    EngineBusyError: Kind(429, "overloaded_error", "rate_limit_exceeded"),
    ClientGoneError: Kind(499, "client_gone"),
    MemoryFullError: Kind(503, "overloaded_error", "server_overloaded"),
    EngineDeadError: Kind(503, "server_error"),
    Exception: Kind(500, "server_error"),
}
UNAUTHORIZED = Kind(401, "authentication_error", "invalid_api_key")
FOREIGN_PAGE = Kind(403, "permission_error", "foreign_page")
TOO_LARGE = Kind(413, "invalid_request_error", "request_too_large")
_NO_SUCH_URL = Kind(404, "invalid_request_error", "unknown_url")


def refusal(error: Exception, kind: Kind, headers: dict[str, str] | None = None) -> JSONResponse:
    """The whole answer."""
    return JSONResponse(_body(error, kind), status_code=kind.status, headers=headers)


async def no_such_url(request: fastapi.Request, error: HTTPException) -> JSONResponse:
    """What the framework itself refuses: an address or a method that is not served, a body that cannot be read."""
    kind = _NO_SUCH_URL if error.status_code == 404 else Kind(error.status_code, "invalid_request_error")
    return refusal(UserError(f"{request.method} {request.url.path}: {error.detail}"), kind, error.headers)


def error_event(error: Exception, kind: Kind | None = None) -> str:
    """A server-sent event for a stream that broke; its kind is that of the error's class if not given."""
    kind = kind or next(kind for one, kind in KINDS.items() if isinstance(error, one))
    return f"data: {json.dumps(_body(error, kind))}\n\n"


def _body(error: Exception, kind: Kind) -> dict[str, dict[str, str | None]]:
    param, code = None, kind.code
    if isinstance(error, RequestError):
        param, code = error.param, error.code or code
    if isinstance(error, LimitError):
        param = error.name
    if isinstance(error, RequestValidationError):
        param = _field(error)
    return {"error": {"message": _one_line(error), "type": kind.type, "param": param, "code": code}}


def _field(error: RequestValidationError) -> str | None:
    """The field that is wrong, as `messages[0].content`; of a union's branches the one that got furthest."""
    paths = [[part for part in one["loc"][1:] if not _NO_FIELD.search(str(part))] for one in error.errors()]
    names = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in max(paths, key=len, default=[])]
    return "".join(names).lstrip(".") or None


def _one_line(error: Exception) -> str:
    if isinstance(error, RequestValidationError) and isinstance(error.body, bytes):
        text = "the body was not sent as JSON; send it with the header content-type: application/json"
    elif isinstance(error, RequestValidationError):
        text = "; ".join(f"{'.'.join(map(str, e['loc'][1:])) or 'body'}: {e['msg']}" for e in error.errors()[:3])
    else:
        text = str(error)
    return " ".join(text.encode(errors="replace").decode().split())[:1000] or type(error).__name__
