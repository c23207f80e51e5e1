"""What clients are told when something goes wrong: one line and the status that fits, in OpenAI's form."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from common.errors import UserError
from common.options.limits import LimitError
from server.engine.reply_form.request_error import RequestError, UnknownModelError
from server.engine.sequence import DeadlineError, EngineBusyError, EngineDeadError, MemoryFullError
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


def refusal(error: Exception, kind: Kind, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The whole answer."""
    return JSONResponse(_body(error, kind), status_code=kind.status, headers=headers)


async def no_such_url(request: fastapi.Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: an address or a method that is not served, a body that cannot be read."""
    assert isinstance(error, HTTPException)
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
    return max((_path(one["loc"]) for one in error.errors()), key=len, default="") or None


def _wrong(error: RequestValidationError) -> str:
    """The field that is wrong and what it may be: of a union's branches those that got furthest, of several fields the
    first."""
    paths = [_path(one["loc"]) for one in error.errors()]
    longest = max(paths, key=len, default="")
    said = [one["msg"] for path, one in zip(paths, error.errors(), strict=True) if path == longest]
    words = [text.removeprefix("Value error, ") for text in dict.fromkeys(said)]
    others = [text.removeprefix("Input should be ") for text in words[1:]]
    return f"{longest or 'body'}: {' or '.join([*words[:1], *others])}"


def _path(loc: Sequence[str | int]) -> str:
    names = [
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc[1:] if not _NO_FIELD.search(str(part))
    ]
    return "".join(names).lstrip(".")


def _one_line(error: Exception) -> str:
    if isinstance(error, RequestValidationError) and isinstance(error.body, bytes):
        text = "the body was not sent as JSON; send it with the header content-type: application/json"
    elif isinstance(error, RequestValidationError):
        text = _wrong(error)
    else:
        text = str(error)
    return " ".join(text.encode(errors="replace").decode().split())[:1000] or type(error).__name__
