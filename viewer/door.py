"""Door: what every request meets first: who may ask, and what a page of the viewer may do.

Everything that is shown came from websites and models. The policy lets a page run the viewer's own scripts only, load
its own images only and talk to nobody else.
"""

import hmac

from starlette.datastructures import QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
_FIRST_PAGE = "/"


class Door:
    """ASGI middleware. A first visit brings the `token` in its address and gets a cookie: other users of this machine
    have neither, and a name that a website leads here has no cookie of ours.

    Browsers say which page asks. Pages of others get nothing, not even work; they may link to the first page.
    """

    def __init__(self, app: ASGIApp, token: str):
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                more = [
                    (name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in present
                ]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        answer = self._refusal(scope, headers) or self.app
        await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> ASGIApp | None:
        if _is_foreign(scope, headers):
            return PlainTextResponse("a page of another website asks", 403)
        given = QueryParams(scope["query_string"]).get("token")
        if given is not None and self._is_token(given):
            response = RedirectResponse(_FIRST_PAGE)  # never to what the address says
            response.set_cookie(_cookie(scope), self.token, httponly=True, samesite="strict")
            return response
        if not self._is_token(cookie_parser(headers.get("cookie", "")).get(_cookie(scope), "")):
            return PlainTextResponse("the address that `elcano view` printed holds a token; open that one", 403)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def _is_foreign(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a page asks that is not the viewer's, by what its browser says: by `Origin`, or where a browser sends
    none, by `Sec-Fetch-Site` or `Referer`."""
    host = headers.get("host", "")
    if "origin" in headers:
        return headers["origin"].partition("://")[2] != host
    if scope["path"] == _FIRST_PAGE and headers.get("sec-fetch-mode", "navigate") == "navigate":
        return False
    referrer = headers.get("referer", "").partition("://")[2].partition("/")[0]
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") or referrer not in ("", host)


def _cookie(scope: Scope) -> str:
    """Cookies are not told apart by port, so the name holds it: viewers on one machine do not lock each other out."""
    return f"elcano_view_{(scope.get('server') or ('', 0))[1]}"
