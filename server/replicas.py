"""Replicas: one server process for each GPU behind one port.

Steps of one episode go to the replica that holds what it read for them; new episodes go where least is under way. A
replica that dies is started again, and its episodes move to the others meanwhile.
"""

import asyncio
import collections
import contextlib
import dataclasses
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import fastapi
import httpx
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from data.errors import UserError
from data.processes import die_with_parent
from server.errors import error_body

log = logging.getLogger("elcano.server")

_REPLY_HEADERS = ("content-type", "retry-after", "www-authenticate")
_MAX_SESSIONS = 100_000
_RESTART_PAUSE_S = 5.0
_PATIENCE_S = 30.0
_HEALTH_S = 10.0


@dataclasses.dataclass(eq=False)
class Replica:
    """One server process. `url` is empty while it does not serve."""

    command: list[str]
    process: subprocess.Popen | None = None
    url: str = ""
    in_flight: int = 0

    def start(self) -> None:
        """Launch it; `wait_ready` says when it serves."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    def wait_ready(self) -> None:
        """Raises `UserError` when it ends instead of serving."""
        line = self.process.stdout.readline()
        if not line.startswith("serving "):
            raise UserError("a replica ended at its start; what it said is above")
        self.url = line.strip().rpartition(" on ")[2]

    def stop(self) -> None:
        """Let it finish what is under way."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


class Router:
    """Chooses a replica for each request."""

    def __init__(self, replicas: Sequence[Replica], slack: int):
        self.replicas, self.slack = replicas, slack
        self._homes: collections.OrderedDict[str, Replica] = collections.OrderedDict()

    def choose(self, session: str | None) -> Replica | None:
        """The session's own replica unless it has `slack` requests more under way than the idlest; None: all are down.

        What a replica has read for a session saves less than waiting long for it costs.
        """
        idlest = min((one for one in self.replicas if one.url), key=lambda one: one.in_flight, default=None)
        if session is None or idlest is None:
            return idlest
        home = self._homes.pop(session, idlest)
        if not home.url or home.in_flight > idlest.in_flight + self.slack:
            home = idlest
        self._homes[session] = home
        while len(self._homes) > _MAX_SESSIONS:
            self._homes.popitem(last=False)
        return home


def session_of(headers: Any, body: bytes) -> str | None:
    """What names the episode: the header X-Session-Id, `/predict`'s id, OpenAI's user, or else how its task begins."""
    if headers.get("x-session-id"):
        return headers["x-session-id"]
    try:
        fields = json.loads(body)
        named = fields.get("id") or fields.get("user")
        if named:
            return str(named)
        turns = fields.get("conversations") or fields.get("messages")
        content = next(turn["content"] for turn in turns if turn["role"] == "user")
        text = content if isinstance(content, str) else next(part["text"] for part in content if part.get("text"))
        return text.split("\n", 1)[0][:500]
    except Exception:  # whatever is wrong with it, the replica will say so
        return None


def create_router_app(
    replicas: Sequence[Replica], on_ready: Callable[[], None], slack: int, timeout_s: float
) -> fastapi.FastAPI:
    """The application before `replicas`, which run already; it stops them in the end. A replica that says nothing for
    longer than the `timeout_s` that it holds itself counts as down."""
    router = Router(replicas, slack)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    patience = httpx.Timeout(timeout_s + _PATIENCE_S)
    client = httpx.AsyncClient(timeout=patience, limits=limits, trust_env=False)

    @contextlib.asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        watch = asyncio.create_task(_restart_dead(replicas))
        on_ready()
        yield
        watch.cancel()
        await asyncio.gather(*(asyncio.to_thread(replica.stop) for replica in replicas))
        await client.aclose()

    app = fastapi.FastAPI(title="Elcano inference server, several replicas", lifespan=lifespan)

    @app.get("/health")
    async def health() -> JSONResponse:
        states = await _ask_all(client, replicas, "GET", "/health", timeout=_HEALTH_S)
        found = [state.json() for state in states if state is not None]
        totals = {name: sum(one[name] for one in found) for name in ("num_waiting", "num_running", "num_finished")}
        versions = sorted({one["weights_version"] for one in found})
        num_ok = sum(one["status"] == "ok" for one in found)
        status = "ok" if num_ok == len(replicas) else "degraded" if num_ok else "dead"
        body = {"status": status, "weights_version": ", ".join(versions), **totals, "replicas": found}
        return JSONResponse(body, status_code=200 if num_ok else 503)

    @app.get("/metrics")
    async def metrics(request: fastapi.Request) -> PlainTextResponse:
        answers = await _ask_all(client, replicas, "GET", "/metrics", headers=_auth(request))
        texts = [_labelled(answer.text, number) for number, answer in enumerate(answers) if answer is not None]
        return PlainTextResponse("".join(texts), media_type="text/plain; version=0.0.4")

    @app.post("/reload")
    async def reload(request: fastapi.Request) -> Response:
        headers = _auth(request) | {"content-type": "application/json"}
        body = await request.body()
        answers = await _ask_all(client, replicas, "POST", "/reload", content=body, headers=headers, timeout=None)
        found = [answer for answer in answers if answer is not None]
        worst = max(found, key=lambda answer: answer.status_code, default=None)
        if worst is None:
            return _unavailable()
        return Response(worst.content, worst.status_code, media_type="application/json")

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def forward(path: str, request: fastapi.Request) -> Response:
        body = await request.body()
        replica = router.choose(session_of(request.headers, body) if body else None)
        if replica is None:
            return _unavailable()
        headers = _auth(request) | {"content-type": request.headers.get("content-type", "application/json")}
        outgoing = client.build_request(request.method, f"{replica.url}/{path}", content=body, headers=headers)
        replica.in_flight += 1
        try:
            answer = await _unless_gone(request, client.send(outgoing, stream=True))
        except httpx.HTTPError as error:
            replica.in_flight -= 1
            log.error("a replica failed", exc_info=error)
            return _unavailable()
        except BaseException:
            replica.in_flight -= 1
            raise
        if answer is None:
            replica.in_flight -= 1
            return JSONResponse(error_body(UserError("the client hung up"), "client_gone"), status_code=499)
        kept = {name: answer.headers[name] for name in _REPLY_HEADERS if name in answer.headers}
        if kept.get("content-type", "").startswith("text/event-stream"):
            return StreamingResponse(_relay(answer, replica), answer.status_code, kept)
        try:
            content = b"".join([piece async for piece in _relay(answer, replica)])
        except httpx.HTTPError as error:
            log.error("a replica failed in the middle of a reply", exc_info=error)
            return _unavailable()
        return Response(content, answer.status_code, kept)

    return app


async def _relay(answer: httpx.Response, replica: Replica) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        replica.in_flight -= 1
        await answer.aclose()


async def _unless_gone(request: fastapi.Request, sending: Any) -> httpx.Response | None:
    """The replica's answer; None, and the replica is told, when the client hangs up before."""

    async def hung_up() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    sent, gone = asyncio.ensure_future(sending), asyncio.ensure_future(hung_up())
    try:
        await asyncio.wait({sent, gone}, return_when=asyncio.FIRST_COMPLETED)
        return sent.result() if sent.done() else None
    finally:
        sent.cancel()
        gone.cancel()


async def _ask_all(
    client: httpx.AsyncClient, replicas: Sequence[Replica], method: str, path: str, **options: Any
) -> list[httpx.Response | None]:
    async def ask(replica: Replica) -> httpx.Response | None:
        try:
            return await client.request(method, replica.url + path, **options) if replica.url else None
        except httpx.HTTPError:
            return None

    return await asyncio.gather(*(ask(replica) for replica in replicas))


async def _restart_dead(replicas: Sequence[Replica]) -> None:
    while True:
        await asyncio.sleep(_RESTART_PAUSE_S)
        for replica in replicas:
            if replica.process.poll() is not None:
                log.error("a replica ended with code %s; starting it again", replica.process.returncode)
                replica.url = ""
                replica.start()
                with contextlib.suppress(UserError):  # tried again at the next round
                    await asyncio.to_thread(replica.wait_ready)


def _auth(request: fastapi.Request) -> dict[str, str]:
    given = request.headers.get("authorization")
    return {"authorization": given} if given else {}


def _unavailable() -> JSONResponse:
    body = error_body(UserError("this replica is down; try again"), "server_error")
    return JSONResponse(body, status_code=503, headers={"retry-after": "5"})


def _labelled(metrics: str, replica: int) -> str:
    """Prometheus lines with a label that says which replica they are from."""
    lines = []
    for line in metrics.splitlines():
        name, _, value = line.rpartition(" ")
        if line.startswith("#"):
            if replica == 0:
                lines.append(line)
        elif name.endswith("}"):
            lines.append(f'{name[:-1]},replica="{replica}"}} {value}')
        else:
            lines.append(f'{name}{{replica="{replica}"}} {value}')
    return "\n".join(lines) + "\n"


def replica_commands(arguments: Sequence[str], num_replicas: int, device: str) -> list[list[str]]:
    """The command of each replica: this one's own with another port, and its own GPU when there are several."""
    server = str(Path(__file__).with_name("hf_online_server.py"))
    commands = []
    for number in range(num_replicas):
        own = f"cuda:{number}" if device == "cuda" else device
        tail = ["--port", "0", "--host", "127.0.0.1", "--replicas", "1", "--device", own, "--access_log", ""]
        commands.append([sys.executable, server, *arguments, *tail])
    return commands
