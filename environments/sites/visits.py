"""Visits: how a request becomes a page. Every browser context has a session of its own, with a state of its own."""

import asyncio
import dataclasses
import re
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Host, Route, Router

from environments.sites.order import ORDER_COOKIE

COOKIE = "elcano_session"
MAX_SESSIONS = 4096  # per site; the one not used for longest goes first
LATE_S = (0.15, 0.30)  # how long late content takes


@dataclasses.dataclass(frozen=True)
class Visit:
    """One request: its session, the session's state, the path's parts, and the fields of the query or posted form.

    `order` decides in which order menus stand.
    """

    order: str
    state: Any
    path: Mapping[str, str]
    fields: Mapping[str, str]

    def number(self, field: str, default: int = 1) -> int:
        """The field as a number of a few digits, else `default`."""
        text = self.fields.get(field, "")
        return int(text) if re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII) else default

    def popular(self, names: Iterable[str]) -> list[str]:
        """The names in the order of what is popular right now: another one for every visitor, so that where a name
        stands must be read and can't be learned by heart."""
        return sorted(names, key=lambda name: zlib.crc32(f"{self.order} {name}".encode()))

    def choice(self, field: str, options: Mapping[str, Any]) -> str:
        """The field when it is one of `options`, else the first of them."""
        chosen = self.fields.get(field, "")
        return chosen if chosen in options else next(iter(options))


Handler = Callable[[Visit], str | Response]


class Sessions:
    """The states of the newest `capacity` sessions by key."""

    def __init__(self, new_state: Callable[[], Any], capacity: int = MAX_SESSIONS):
        self._new_state, self._capacity = new_state, capacity
        self._states: OrderedDict[str, Any] = OrderedDict()

    def state(self, key: str | None) -> tuple[str, Any]:
        """The session of this key, or a fresh one under a new key."""
        if key not in self._states:
            key = secrets.token_hex(16)
            self._states[key] = self._new_state()
            if len(self._states) > self._capacity:
                self._states.popitem(last=False)
        self._states.move_to_end(key)
        return key, self._states[key]


def site(
    name: str,
    new_state: Callable[[], Any],
    pages: Mapping[str, Handler],
    late: Mapping[str, Handler],
    delay_s: float = 0.0,
    tell: Callable[[Any], dict[str, Any]] = dataclasses.asdict,
) -> Host:
    """The site at `<name>.localhost`: `pages` and `late` map a path to its handler; `late` ones take their time, all of
    `pages` take `delay_s`. `tell` makes of a session's state what the ground truth looks at."""
    sessions = Sessions(new_state)
    routes = [
        Route(path, _endpoint(handler, sessions, delay_s), methods=["GET", "POST"]) for path, handler in pages.items()
    ]
    told = _endpoint(lambda visit: JSONResponse(tell(visit.state)), sessions, 0.0)
    routes.append(Route("/_elcano/state", told, methods=["GET", "POST"]))
    for path, handler in late.items():
        low, high = LATE_S
        late_s = low + (high - low) * (zlib.crc32(path.encode()) % 100) / 100
        routes.append(Route(path, _endpoint(handler, sessions, late_s)))
    return Host(f"{name}.localhost", Router(routes), name=name)


def _endpoint(handler: Handler, sessions: Sessions, delay_s: float) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        await asyncio.sleep(delay_s)
        key, state = sessions.state(request.cookies.get(COOKIE))
        body = (await request.body()).decode(errors="replace") if request.method == "POST" else request.url.query
        order = request.cookies.get(ORDER_COOKIE, key)
        result = handler(Visit(order, state, request.path_params, dict(parse_qsl(body))))
        response = result if isinstance(result, Response) else HTMLResponse(result)
        response.set_cookie(COOKIE, key, httponly=True, samesite="lax")
        return response

    return answer


def go_to(address: str) -> Response:
    """Send the browser on after a form."""
    return RedirectResponse(address, status_code=303)


def matches(query: str, names: Mapping[str, Any] | list[str]) -> list[str]:
    """The names that hold every word of `query`, whatever the case."""
    words = query.lower().split()
    return [name for name in names if words and all(word in name.lower().split() for word in words)]


def paginate(items: list[Any], page: int, size: int) -> tuple[list[Any], int, int]:
    """(the items of the page, the page's number within bounds, the number of pages)."""
    num_pages = max(1, -(-len(items) // size))
    page = min(page, num_pages)
    return items[(page - 1) * size : page * size], page, num_pages
