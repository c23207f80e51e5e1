"""MiniWoB++ as a website: its pages from the `miniwob` package on PyPI, served here, one episode per page and session.

    python -m environments.miniwob --port 7070

A task's page is http://miniwob.localhost:<port>/miniwob/click-test.html?seed=3: the seed decides everything on it. The
page reports the end of its episode to this server, which keeps the first end of each session and tells it at
/_elcano/state as the embedded sites do, so that the oracle judges it like theirs:

    {"done": true, "solved": true, "raw_reward": 1, "reason": "", "loads": 1, "utterance": "...", "num_elements": 9}

Solved = the raw reward, without time decay, is 1. (BrowserGym counts any positive one; `raw_reward` is kept for that.)
"""

import dataclasses
import importlib.util
import secrets
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from common.errors import UserError
from data.task import SITES_PORT

NAME = "miniwob"
HOST = f"{NAME}.localhost"
COOKIE = "session"
SOLVED = {"eval_types": ["site_state"], "site_state": {"done": True, "solved": True}}


def html_folder() -> Path:
    """Where the package keeps its pages; it is not imported, that would need gymnasium."""
    found = importlib.util.find_spec("miniwob")
    if found is None or not found.submodule_search_locations:
        raise UserError("--env miniwob needs the package miniwob: pip install -e '.[miniwob]'")
    return Path(found.submodule_search_locations[0]) / "html"


def task_names() -> list[str]:
    """Every task of the package, such as `click-test`; the airlines' are `flight.AA` and so on."""
    html = html_folder()
    names = [path.stem for path in (html / "miniwob").glob("*.html")]
    return sorted([*names, *(f"flight.{path.parent.name}" for path in (html / "flight").glob("*/wrapper.html"))])


def address(name: str, seed: int) -> str:
    """The task's page on the usual port of embedded sites."""
    kind, _, airline = name.partition(".")
    path = f"flight/{airline}/wrapper.html" if kind == "flight" else f"miniwob/{name}.html"
    return f"http://{HOST}:{SITES_PORT}/{path}?seed={seed}"


@dataclasses.dataclass
class Episode:
    """What became of one page in one session."""

    state: dict[str, Any] = dataclasses.field(default_factory=lambda: {"done": False, "solved": False, "loads": 0})

    def report(self, fields: dict[str, Any]) -> None:
        """Take what the page says; nothing is taken after its end."""
        if self.state["done"]:
            return
        known = ("utterance", "num_elements", "done", "raw_reward", "reason")
        self.state |= {name: fields[name] for name in known if name in fields}
        self.state["solved"] = self.state["done"] and self.state.get("raw_reward", 0) >= 1


def create_app() -> Starlette:
    """The pages, with the referee behind `core.js`, and the episodes of all sessions."""
    html = html_folder()
    referee = (Path(__file__).parent / "referee.js").read_bytes()
    core = (html / "core" / "core.js").read_bytes() + b"\n" + referee
    episodes: dict[tuple[str, str], Episode] = {}
    newest: dict[str, str] = {}

    async def report(request: Request) -> Response:
        fields = orjson.loads(await request.body())
        key = (request.cookies.get(COOKIE, ""), str(fields["page"]))
        if key in episodes:
            episodes[key].report(fields)
        return Response(status_code=204)

    def tell(request: Request) -> Response:
        session = request.cookies.get(COOKIE, "")
        episode = episodes.get((session, newest.get(session, "")))
        return JSONResponse(episode.state if episode else {})

    class Pages(StaticFiles):
        async def get_response(self, path: str, scope: Any) -> Response:
            request = Request(scope)
            response = await super().get_response(path, scope)
            if "seed" in request.query_params:  # a task's page: an episode of this session
                session = request.cookies.get(COOKIE) or secrets.token_hex(8)
                page = f"{request.url.path}?{request.url.query}"
                newest[session] = page
                episodes.setdefault((session, page), Episode()).state["loads"] += 1
                response.set_cookie(COOKIE, session, httponly=True)
                response.headers["cache-control"] = "no-store"  # every load is seen here
            return response

    return Starlette(
        routes=[
            Route("/core/core.js", lambda request: Response(core, media_type="text/javascript")),
            Route("/_elcano/episode", report, methods=["POST"]),
            Route("/_elcano/state", tell),
            Route("/health", lambda request: PlainTextResponse(NAME)),
            Mount("/", Pages(directory=html)),
        ]
    )
