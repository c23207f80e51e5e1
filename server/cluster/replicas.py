"""Replicas: one server process for each GPU behind one port.

Steps of one episode go to the replica that holds what it read for them; new episodes go where least is under way. While
a replica is down (`fleet.py`), its episodes move to the others.
"""

import asyncio
import collections
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import fastapi
import httpx
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from common.errors import UserError
from common.network.bounded_http import BoundedAsyncClient, bounded
from server.cluster.fleet import CONNECT_S, COUNTS, Fleet, Replica, said_health
from server.protocols.errors import KINDS, Kind, error_event, no_such_url, refusal
from server.protocols.metrics import ReplicasMetrics, render
from server.service import ReloadingError
from server.streaming import ClientGoneError, Stream, unless_gone

log = logging.getLogger("elcano.server")

_DOWN, _IS_DOWN = "this replica is down; try again", Kind(503, "server_error")
_REPLY_HEADERS = ("content-type", "retry-after", "www-authenticate")
_MAX_SESSIONS = 100_000
_MOST_OF_NAME = 500
"""Characters of what names an episode."""
_PATIENCE_S = 30.0
_HEALTH_S = 10.0
_MAX_ANSWER_BYTES = 32 * 2**20


class Router:
    """Chooses a replica for each request."""

    def __init__(self, replicas: Sequence[Replica], slack: int):
        self.replicas, self.slack = replicas, slack
        self._homes: collections.OrderedDict[str, Replica] = collections.OrderedDict()
        self._last_new = dict.fromkeys(replicas, 0)  # when each was last given an episode
        self._num_new = itertools.count(1)

    def choose(self, session: str | None) -> Replica | None:
        """The session's own replica unless it has `slack` requests more under way than the idlest; None: all are down.

        What a replica has read for a session saves less than waiting long for it costs.
        """
        up = [one for one in self.replicas if one.url and not one.doubted]
        idlest = min(up, key=lambda one: (one.in_flight, self._last_new[one]), default=None)
        if session is None or idlest is None:
            return idlest
        if session not in self._homes:
            self._last_new[idlest] = next(self._num_new)
        home = self._homes.pop(session, idlest)
        if home not in up or home.in_flight > idlest.in_flight + self.slack:
            home = idlest
        self._homes[session] = home
        while len(self._homes) > _MAX_SESSIONS:
            self._homes.popitem(last=False)
        return home


def session_of(headers: Any, body: bytes) -> str | None:
    """What names the episode: the header X-Session-Id, `/predict`'s id, OpenAI's prompt_cache_key or user, or else how
    its task begins."""
    if headers.get("x-session-id"):
        return headers["x-session-id"][:_MOST_OF_NAME]
    try:
        fields = json.loads(body)
        named = fields.get("id") or fields.get("prompt_cache_key") or fields.get("user")
        if named:
            return str(named)[:_MOST_OF_NAME]
        turns = fields.get("conversations") or fields.get("messages")
        content = next(turn["content"] for turn in turns if turn["role"] == "user")
        text = content if isinstance(content, str) else next(part["text"] for part in content if part.get("text"))
        return text.split("\n", 1)[0][:_MOST_OF_NAME]
    except Exception:  # whatever is wrong with it, the replica will say so
        return None


def create_router_app(
    fleet: Fleet, on_ready: Callable[[], None], slack: int, timeout_s: float, api_key: str = ""
) -> fastapi.FastAPI:
    """The application before `fleet`, which runs already and asks for `api_key`; it stops it in the end. A replica that
    does not answer for longer than the `timeout_s` that it holds itself counts as down."""
    replicas, reloading = fleet.replicas, fleet.reloading
    router = Router(replicas, slack)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    patience = httpx.Timeout(timeout_s + _PATIENCE_S, connect=CONNECT_S)
    key = {"authorization": f"Bearer {api_key}"} if api_key else {}
    options: dict[str, Any] = {"timeout": patience, "limits": limits, "headers": key, "trust_env": False}
    client, asking = httpx.AsyncClient(**options), BoundedAsyncClient(**options)

    @contextlib.asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        watch = asyncio.create_task(fleet.keep())
        on_ready()
        yield
        watch.cancel()
        await asyncio.gather(*(asyncio.to_thread(replica.stop) for replica in replicas))
        await asyncio.gather(client.aclose(), asking.aclose())

    app = fastapi.FastAPI(title="Elcano inference server, several replicas", lifespan=lifespan)
    app.add_exception_handler(HTTPException, no_such_url)

    @app.get("/health")
    async def health() -> JSONResponse:
        states = await _ask_all(asking, replicas, "GET", "/health", timeout=_HEALTH_S)
        found = [health for state in states if state is not None and (health := said_health(state))]
        totals = {name: sum(one[name] for one in found) for name in COUNTS}
        versions = sorted({one["weights_version"] for one in found})
        num_ok = sum(one["status"] == "ok" for one in found)
        all_well = num_ok == len(replicas) and versions == [fleet.version]
        status = "ok" if all_well else "degraded" if num_ok else "dead"
        body = {
            "status": status,
            "weights_version": ", ".join(versions),
            **totals,
            "num_replicas": len(replicas),
            "replicas": found,
        }
        return JSONResponse(body, status_code=200 if num_ok else 503)

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        answers = await _ask_all(asking, replicas, "GET", "/metrics")
        texts = {number: answer.text for number, answer in enumerate(answers) if answer is not None}
        return render(ReplicasMetrics(texts))

    @app.post("/reload")
    async def reload(request: fastapi.Request) -> Response:
        headers = {"content-type": "application/json"}
        body = await request.body()
        if reloading.locked():
            error = ReloadingError("another reload is under way; try again later")
            return refusal(error, KINDS[ReloadingError])
        async with reloading:
            asked = [replica.running for replica in replicas]
            answers = await _ask_all(asking, replicas, "POST", "/reload", content=body, headers=headers, timeout=None)
            found = [(process, answer) for process, answer in zip(asked, answers, strict=True) if answer is not None]
            best = min((answer for _, answer in found), key=lambda answer: answer.status_code, default=None)
            if best is None:
                return _unavailable()
            if best.status_code == 200:
                done = {process: answer.json() for process, answer in found if answer.status_code == 200}
                versions = {process: state["weights_version"] for process, state in done.items()}
                fleet.change(Path(json.loads(body)["model_name_or_path"]), versions)
        return Response(best.content, best.status_code, media_type="application/json")

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def forward(path: str, request: fastapi.Request) -> Response:
        if not _is_plain(path):  # /./reload would reach one replica's /reload
            raise HTTPException(404)
        body = await request.body()
        session = session_of(request.headers, body) if body else None
        while (replica := router.choose(session)) is not None:
            try:
                return await _answer(client, replica, request, path, body, timeout_s + _PATIENCE_S)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # it has not begun: another one may
                log.error("a replica takes no connection: %r", error)
                replica.notice_end()
                replica.doubted = True
        return _unavailable()

    return app


def _is_plain(path: str) -> bool:
    """Whether a replica is asked for just this path."""
    try:
        return httpx.URL(f"http://replica/{path}").path == f"/{path}"
    except httpx.InvalidURL:
        return False


async def _answer(
    client: httpx.AsyncClient, replica: Replica, request: fastapi.Request, path: str, body: bytes, patience_s: float
) -> Response:
    """What the replica says to it, whole within `patience_s`, or that it is down; raises httpx's error where it takes
    no connection."""
    end = asyncio.get_running_loop().time() + patience_s
    content_type = request.headers.get("content-type", "application/json")
    headers = {b"content-type": content_type.encode("latin-1")}  # the bytes that came
    outgoing = client.build_request(request.method, f"{replica.url}/{path}", content=body, headers=headers)
    async with contextlib.AsyncExitStack() as held:
        held.enter_context(replica.busy())
        try:
            async with asyncio.timeout_at(end), replica.awaited():
                answer = await unless_gone(request, client.send(outgoing, stream=True))
                held.push_async_callback(answer.aclose)
                kept = {name: answer.headers[name] for name in _REPLY_HEADERS if name in answer.headers}
                if kept.get("content-type", "").startswith("text/event-stream"):
                    return Stream(_events(answer, replica, end), held.pop_all().aclose, answer.status_code, kept)
                content = b"".join([piece async for piece in bounded(answer.aiter_raw(), _MAX_ANSWER_BYTES)])
        except ClientGoneError as error:
            return refusal(error, KINDS[ClientGoneError])
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except (httpx.HTTPError, TimeoutError) as error:
            log.error("a replica failed: %r", error)
            replica.notice_end()
            return _unavailable()
        return Response(content, answer.status_code, kept)


async def _events(answer: httpx.Response, replica: Replica, end: float) -> AsyncIterator[bytes]:
    """What the replica sends, and an error where it breaks off, or goes on beyond the loop's `end`."""
    pieces = answer.aiter_raw()
    try:
        while True:
            async with asyncio.timeout_at(end), replica.awaited():
                piece = await anext(pieces, b"")
            if not piece:
                return
            yield piece
    except (httpx.HTTPError, TimeoutError) as error:
        log.error("a replica failed: %r", error)
        replica.notice_end()
        yield error_event(UserError(_DOWN), _IS_DOWN).encode()


async def _ask_all(
    client: BoundedAsyncClient, replicas: Sequence[Replica], method: str, path: str, **options: Any
) -> list[httpx.Response | None]:
    async def ask(replica: Replica) -> httpx.Response | None:
        try:
            async with replica.awaited():
                return await client.request(method, replica.url + path, **options) if replica.url else None
        except (httpx.HTTPError, TimeoutError):
            return None

    return await asyncio.gather(*(ask(replica) for replica in replicas))


def _unavailable() -> JSONResponse:
    return refusal(UserError(_DOWN), _IS_DOWN, {"retry-after": "5"})
