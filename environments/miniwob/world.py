"""MiniWoB++ as a website: its pages from the `miniwob` package on PyPI, served here, one episode per page and session.

    python -m environments.miniwob.world --port 7070

A task's page is http://miniwob.localhost:<port>/miniwob/click-test.html?seed=3: the seed decides everything on it. The
page reports the end of its episode to this server, which keeps the first end of each session and tells it at
/_elcano/state as the embedded sites do, so that the oracle judges it like theirs:

    {"done": true, "solved": true, "raw_reward": 1, "reason": "", "loads": 1, "utterance": "...", "num_elements": 9}

Solved = the raw reward, without time decay, is 1. (BrowserGym counts any positive one; `raw_reward` is kept for that.)
"""

import asyncio
import contextlib
import dataclasses
import importlib.util
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from common import cli, processes
from common.errors import UserError
from common.processes import listen
from data.task import SITES_PORT, Task, move_sites, read_tasks, write_tasks
from environments.browser.fleet import Fleet
from environments.browser.settle import settle

HOST = "miniwob.localhost"
COOKIE = "session"
SOLVED = {"eval_types": ["site_state"], "site_state": {"done": True, "solved": True}}
READY_TIMEOUT_S = 30.0


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
            Route("/health", lambda request: PlainTextResponse("ok")),
            Mount("/", Pages(directory=html)),
        ]
    )


@contextlib.contextmanager
def served() -> Iterator[int]:
    """Serve in a process of its own that dies with this one; gives the port."""
    html_folder()
    with processes.served("environments.miniwob.world") as port:
        yield port


def tasks_for(names: Sequence[str], seeds: Sequence[int], port: int, fleet: Fleet, kept: Path) -> list[Task]:
    """A task for each name and seed, at `port`. What each asks for stands on its page: a browser reads it, once.

    Raises:
        UserError: there is no such task.
    """
    known = task_names()
    if unknown := set(names) - set(known):
        raise UserError(
            f"MiniWoB++ has no task {sorted(unknown)[0]!r}; it has {', '.join(known[:3])}, ... ({len(known)})"
        )
    wanted = [(name, seed) for name in names or known for seed in seeds]
    tasks = {task.id: task for task in read_tasks(kept)} if kept.exists() else {}
    missing = [pair for pair in wanted if _id(*pair) not in tasks]
    if missing:
        tasks |= {task.id: task for task in asyncio.run(_read(missing, port, fleet))}
        write_tasks(kept, tasks.values())
    return move_sites([tasks[_id(*pair)] for pair in wanted], port)


async def _read(pairs: Sequence[tuple[str, int]], port: int, fleet: Fleet) -> list[Task]:
    left = list(reversed(pairs))
    tasks = []

    async def session(number: int, downloads: Path) -> None:
        async with fleet.page(number, downloads) as page:
            while left:
                name, seed = left.pop()
                task = Task(_id(name, seed), name, address(name, seed), web_name=f"miniwob.{name}", eval=SOLVED)
                url = move_sites([task], port)[0].web
                await page.goto(url)
                await settle(page)
                async with asyncio.timeout(READY_TIMEOUT_S):
                    while "utterance" not in (state := await page.fetch_json(f"http://{HOST}:{port}/_elcano/state")):
                        await asyncio.sleep(0.1)
                tasks.append(dataclasses.replace(task, ques=state["utterance"].strip() or name))

    async with fleet:
        await asyncio.gather(*(session(number, Path()) for number in range(min(4, len(pairs)))))
    return tasks


def _id(name: str, seed: int) -> str:
    return f"miniwob.{name}--{seed}"


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve MiniWoB++."""

    port: int = SITES_PORT
    """Port to listen on; 0 picks a free one."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    app = create_app()
    print(f"miniwob on http://{HOST}:{listener.getsockname()[1]}/", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
