"""Middleware: what every request meets before it is read: the password, the size limit, the access log."""

import asyncio
import collections
import contextlib
import hmac
import ipaddress
import json
import socket
import sys
import time
from typing import Any, TextIO

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from common.errors import UserError
from server.engine.sequence import DeadlineError
from server.protocols.errors import FOREIGN_PAGE, KINDS, TOO_LARGE, UNAUTHORIZED, refusal

_OPEN_PATHS = ("/health",)  # load balancers ask it without a key
_PATIENCE_S, _PATIENCE_BYTES = 2.0, 2**26  # for a refused client to finish sending


class RequestLimits:
    """ASGI middleware. Without a key it answers requests to this machine's own names only, of which `host` is one, and
    none of another website's page. It counts responses by status, and leaves the counts in each request's state."""

    def __init__(
        self,
        app: ASGIApp,
        api_key: str,
        max_body_bytes: int,
        body_timeout_s: float,
        log: "AccessLog",
        host: str = "localhost",
    ):
        self.app, self.max_body_bytes, self.body_timeout_s, self.log = app, max_body_bytes, body_timeout_s, log
        self._names = {"localhost", host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        self.responses: collections.Counter[int] = collections.Counter()
        self._expected = f"Bearer {api_key}".encode() if api_key else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        scope.setdefault("state", {})["responses"] = self.responses
        began, status = time.monotonic(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._serve(scope, receive, watched)
        finally:
            self.responses[status] += 1
            self.log.write(scope, status, time.monotonic() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        given = headers.get(b"authorization", b"")
        if self._expected and scope["path"] not in _OPEN_PATHS and not hmac.compare_digest(given, self._expected):
            await self._read_away(receive)
            error = UserError("a bearer token is missing or wrong")
            return await refusal(error, UNAUTHORIZED, {"www-authenticate": "Bearer"})(scope, receive, send)
        if not self._expected and scope["path"] not in _OPEN_PATHS and not self._is_own(headers.get(b"host", b"")):
            await self._read_away(receive)
            error = UserError(
                "the request names another host, as a website does that leads its name here; ask by this machine's "
                "address or name, or set a key"
            )
            return await refusal(error, FOREIGN_PAGE)(scope, receive, send)
        origin = headers.get(b"origin")
        if not self._expected and origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            await self._read_away(receive)
            error = UserError("a page of another website asks; a server that pages may ask needs a key")
            return await refusal(error, FOREIGN_PAGE)(scope, receive, send)
        length = headers.get(b"content-length", b"0")
        oversized = not length.isdigit() or int(length[:20]) > self.max_body_bytes
        received, is_whole, is_late = 0, False, False
        deadline = asyncio.get_running_loop().time() + self.body_timeout_s

        async def counted() -> Message:
            """Chunked bodies do not say how long they are: one that is too long ends like one whose client left. So
            does one that does not come in time."""
            nonlocal oversized, received, is_whole, is_late
            try:
                async with asyncio.timeout_at(None if is_whole else deadline):
                    message = await receive()
            except TimeoutError:
                is_late = True
                return {"type": "http.disconnect"}
            received += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            oversized = received > self.max_body_bytes
            return {"type": "http.disconnect"} if oversized else message

        async def unless_refused(message: Message) -> None:
            if not oversized and not is_late:
                await send(message)

        if not oversized:
            with contextlib.suppress(ClientDisconnect):  # so reading a body ends where no more of it is let through
                await self.app(scope, counted, unless_refused)
        if oversized:
            await self._read_away(receive)
            error = UserError(f"the request is larger than {self.max_body_bytes // 2**20} MiB")
            await refusal(error, TOO_LARGE)(scope, receive, send)
        elif is_late:
            error = DeadlineError(f"the request did not come within {self.body_timeout_s:.0f} s")
            await refusal(error, KINDS[DeadlineError])(scope, receive, send)

    def _is_own(self, host: bytes) -> bool:
        """Whether a `Host` is this machine: an address, which no website can lead elsewhere, or a name of its own.
        Programs may send none."""
        name = host.decode("latin-1").lower()
        name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        with contextlib.suppress(ValueError):
            return not name or bool(ipaddress.ip_address(name))
        return name in self._names or name.endswith(".localhost")

    @staticmethod
    async def _read_away(receive: Receive) -> None:
        """Let a client that is refused finish sending: closed while it sends, it would never read the refusal. One that
        sends very much or very slowly is not waited for."""
        room = _PATIENCE_BYTES
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                while room > 0:
                    message = await receive()
                    room -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


class AccessLog:
    """One JSON line per request: what was asked, how it ended, how long it took, what it cost."""

    def __init__(self, path: str):
        self._file: TextIO | None = sys.stderr if path == "-" else open(path, "a") if path else None  # noqa: SIM115

    def write(self, scope: Scope, status: int, seconds: float) -> None:
        """Log a finished request, if there is a log."""
        if self._file is None:
            return
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "client": (scope.get("client") or ["?"])[0],
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "seconds": round(seconds, 4),
        }
        completions = scope["state"].get("completions")
        if completions:
            first = completions[0]
            line |= {
                "weights_version": first.weights_version,
                "prompt_tokens": first.prompt_tokens,
                "cached_tokens": first.cached_tokens,
                "completion_tokens": sum(len(one.token_ids) for one in completions),
                "queue_s": round(first.queue_s, 4),
                "first_token_s": round(first.first_token_s, 4),
            }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
