"""Real applications: each template once with each seed, every episode in a server of its own that begins as the seed.

python -m environments.apps install trac
python collection/run.py --env apps --headless --api_localhost http://127.0.0.1:8080/predict
"""

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.processes import listen, listen_near
from data.task import SITES_PORT, Task, move_sites, read_tasks
from environments.apps.application import Application, app_names, make_app
from environments.apps.router import Router
from environments.apps.server import Server
from environments.apps.servers import Servers
from environments.apps.templates import State, make_task
from environments.apps.trouble import Trouble
from environments.browser.clock import shift_clock
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.gate.gate import Gate
from environments.browser.page.page import Page
from environments.browser.storage_state import restore
from environments.environment import Environment, Open
from environments.websites import Websites


@dataclasses.dataclass
class World(Websites):
    """Sessions share nothing: an episode has a server with a state of its own.

    Args:
        env_tasks: names such as trac or trac.close-ticket; none: all of what is installed.
        env_seeds: what decides about whom and what a task is.
        test_file: tasks that were written before, in the place of these.
        trouble: what goes wrong on the way, such as errors=0.1; see `trouble.py`.
    """

    env_tasks: tuple[str, ...] = ()
    env_seeds: tuple[int, ...] = (0,)
    test_file: Path | None = None
    trouble: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._port = SITES_PORT
        self._listener: socket.socket | None = None
        self._trouble = Trouble.read(self.trouble)

    @property
    def port(self) -> int:
        return self._port

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        titles = ", ".join(app.title for app in installed_apps())
        with listen_near(SITES_PORT) as self._listener:
            self._port = self._listener.getsockname()[1]
            yield f"{titles} on port {self._port} until the end"

    def __getstate__(self) -> dict[str, Any]:
        """Who is sent a copy, as nodes are, listens there; on this machine, too, so we no longer do."""
        if self._listener is not None:
            self._listener.close()
        return {**self.__dict__, "_listener": None}

    async def tasks(self) -> list[Task]:
        if self.test_file is not None:
            return move_sites(read_tasks(self.test_file), self._port)
        return move_sites(make_tasks(self.env_tasks, self.env_seeds), self._port)

    def check(self, tasks: Sequence[Task]) -> None:
        super().check(tasks)
        for name in {task.id.partition(".")[0] for task in tasks}:
            make_app(name).check_installed()

    @contextlib.asynccontextmanager
    async def environments(self, tasks: Sequence[Task], num_sessions: int) -> AsyncIterator[Open]:
        listener = self._listener.dup() if self._listener is not None else listen(self._port)
        with listener, Gate(self._policy(tasks)) as gate, Servers(self._port) as servers:
            async with Router(listener) as router, self.browser.fleet(num_sessions, gate.flags()) as fleet:

                async def open_environment(session: int, downloads: Path) -> Environment:
                    page = await fleet.open(session, downloads)
                    return AppEnvironment(page, self.browser, servers, router, self._trouble)

                yield open_environment

    @property
    def judge(self) -> str:
        return "oracle"


class AppEnvironment(BrowserEnvironment):
    """A page of an application, logged in, on a server that nobody else has and whose clock the browser follows.

    `server` is its own from the reset until it is closed.
    """

    def __init__(self, page: Page, config: BrowserConfig, servers: Servers, router: Router, trouble: Trouble):
        super().__init__(page, config)
        self._servers, self._router, self._trouble = servers, router, trouble
        self.server: Server | None = None
        self._key = ""

    async def reset(self, task: Task, seed: int | None = None) -> None:
        app = make_app(task.id.partition(".")[0])
        self.server = await self._servers.take(app)
        trouble = self._trouble.episode(task.id) if self._trouble else None
        self._key, cookie = self._router.lead(app.host, self.server.port, trouble)
        logins = [
            {"name": name, "value": value, "domain": app.host, "path": "/"}
            for name, value in app.module("start").COOKIES.items()
        ]
        await restore(self.page, {"cookies": [cookie, *logins]})
        await shift_clock(self.page, self.server.ahead_s)
        await super().reset(task, seed)

    async def final_state(self) -> dict[str, Any]:
        assert self.server is not None  # an episode has one from its reset on
        changes = await asyncio.to_thread(self.server.changes)
        place = self.server.app.module("check").place(await self.page.address())
        return {"final_state": {"place": place, **changes}}

    async def close(self) -> None:
        await super().close()
        if self.server is not None:
            self._router.forget(self._key)
            self._servers.give_back(self.server)
            self.server = None

    @property
    def provenance(self) -> dict[str, Any]:
        digests = {app.name: app.digest for app in installed_apps()}
        trouble = {"trouble": dataclasses.asdict(self._trouble)} if self._trouble else {}
        return {**super().provenance, "applications": digests, **trouble}


def installed_apps() -> list[Application]:
    """Those of this machine.

    Raises:
        UserError: there are none.
    """
    apps = [app for app in map(make_app, app_names()) if app.installed]
    if not apps:
        raise UserError("no application is installed: python -m environments.apps install")
    return apps


def make_tasks(names: Sequence[str], seeds: Sequence[int]) -> list[Task]:
    """Each template with each seed; `names` are of applications or of templates.

    Raises:
        UserError: there is no such name, or its application is not installed.
    """
    tasks = []
    for name in names or [app.name for app in installed_apps()]:
        app_name, _, template = name.partition(".")
        app = make_app(app_name)
        templates = app.module("tasks").TEMPLATES
        if template and template not in templates:
            raise UserError(f"{app_name} has no template {template!r}; it has {', '.join(templates)}")
        state = State(app.seed_records)
        tasks += [make_task(app, one, seed, state) for one in ([template] if template else templates) for seed in seeds]
    return tasks
