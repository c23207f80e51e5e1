"""What worlds of websites have in common: browsers behind a gate, ground truth by its kind, and the user's reset."""

import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from common.network.own_services import answer_of
from common.processes import no_answer, served
from data.task import SITES, SITES_PORT, Task
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.gate.gate import Gate
from environments.browser.gate.url_policy import UrlPolicy
from environments.browser.page.page import Page
from environments.browser.storage_state import check_storage_states, restore
from environments.command import run_reset_command
from environments.environment import Environment, Observation, Open
from environments.faults import PageError
from environments.sites.order import order_cookie
from environments.webarena.addresses import hosts_from_environment
from environments.webarena.final_pages import check_programs, read_final_pages
from environments.world import World

_HEALTH_S = 5.0
STATE_PATH = "/_elcano/state"  # where embedded sites and MiniWoB++ tell a session's state


@dataclasses.dataclass
class Websites(World):
    """A task may be of any kind, whichever file it stands in: on an embedded site, on WebArena's, on the open web.

    Args:
        browser: how its pages are shown.
        reset_command: of the user's, see `restore`.
    """

    browser: BrowserConfig = dataclasses.field(default_factory=BrowserConfig)
    reset_command: str = ""

    @property
    def port(self) -> int:
        """Where its own websites answer on this machine."""
        return SITES_PORT

    @property
    def other_sites(self) -> Sequence[str]:
        """Hosts of its own websites where no task begins, but pages lead."""
        return ()

    @property
    def kind(self) -> "type[WebsiteEnvironment]":
        """What its tasks are taken in."""
        return WebsiteEnvironment

    def check(self, tasks: Sequence[Task]) -> None:
        check_programs(tasks)
        check_storage_states(tasks)
        self._policy(tasks)

    @contextlib.asynccontextmanager
    async def environments(self, tasks: Sequence[Task], num_sessions: int) -> AsyncIterator[Open]:
        check_embedded_sites(tasks)
        policy = self._policy(tasks)
        if own := policy.own_starts():
            print(f"tasks begin at this machine's own addresses or networks: {', '.join(own)}", file=sys.stderr)
        with Gate(policy) as gate:
            async with self.browser.fleet(num_sessions, gate.flags()) as fleet:

                async def open_environment(session: int, downloads: Path) -> Environment:
                    return self.kind(await fleet.open(session, downloads), self.browser, gate)

                yield open_environment

    def _policy(self, tasks: Sequence[Task]) -> UrlPolicy:
        return self.browser.url_policy(tasks, hosts_from_environment(), self.port, self.other_sites)

    async def restore(self, backend: str = "") -> bool:
        """Embedded sites and MiniWoB++ share nothing between sessions; other websites have the user's command."""
        if self.reset_command:
            await run_reset_command(self.reset_command, backend)
        return bool(self.reset_command)


class WebsiteEnvironment(BrowserEnvironment):
    """A page, and what our own websites and WebArena's need before the first and after the last step."""

    def __init__(self, page: Page, config: BrowserConfig, gate: Gate):
        super().__init__(page, config)
        self._gate = gate

    async def reset(self, task: Task, seed: int | None = None) -> None:
        if seed is not None and (cookie := order_cookie(task, seed)):
            await restore(self.page, {"cookies": [cookie]})
        try:
            await super().reset(task, seed)
        except PageError as error:
            raise self._explained(error, task.web) from None

    async def observe(self) -> Observation:
        try:
            return await super().observe()
        except PageError as error:
            raise self._explained(error, await self.page.address()) from None

    def _explained(self, error: PageError, url: str) -> PageError:
        """With what the gate knows: browsers only see that it closes connections."""
        why = self._gate.why_not(url)
        return PageError(f"{error} ({why})") if why else error

    async def is_over(self) -> bool:
        """As its website says, where the ground truth asks whether it is `done` (MiniWoB++)."""
        wanted = self._given.truth.get("site_state") or {}
        if "done" not in wanted or urlsplit(await self.page.address()).netloc != urlsplit(self._given.web).netloc:
            return False  # asking from elsewhere would leave the page
        return bool((await self._site_state()).get("done"))

    async def _site_state(self) -> dict[str, Any]:
        start = urlsplit(self._given.web)
        return await self.page.fetch_json(f"{start.scheme}://{start.netloc}{STATE_PATH}")

    async def final_state(self) -> dict[str, Any]:
        """By the kinds of ground truth that the task names."""
        task, kept = self._given, {}
        kinds = task.truth.get("eval_types", [])
        if "site_state" in kinds:
            kept["final_state"] = await self._site_state()
        if "program_html" in kinds:
            kept["final_pages"] = await read_final_pages(self.page, task)
        return kept


@contextlib.contextmanager
def served_again(module: str, site: str, port: int) -> Iterator[None]:
    """Websites of `python -m module`, of which one is `site`, at this port of this machine, unless they answer there
    already.

    Raises:
        UserError: another program has the port.
    """
    if site in sites_at(port):
        yield
        return
    with served(module, port) as found:
        if found != port:
            raise UserError(f"port {port}, where the tasks' websites were, is another program's now; end that one")
        yield


def sites_at(port: int) -> Sequence[str]:
    """Names of the websites of ours that answer at this port of this machine; none where another program does."""
    answer = answer_of(f"http://127.0.0.1:{port}/health", _HEALTH_S)
    return answer[1].decode(errors="replace").split() if answer is not None and answer[0] == 200 else ()


def check_embedded_sites(tasks: Sequence[Task]) -> None:
    """Raise UserError unless the embedded websites answer where tasks on them begin, and something does where tasks on
    another `<site>.localhost` begin."""
    addresses = [urlsplit(task.web) for task in tasks]
    begun = [(address.hostname or "", address.port or 80) for address in addresses]
    for port in {port for host, port in begun if host.endswith(".localhost")}:
        wanted = {name for name in SITES if (f"{name}.localhost", port) in begun}
        error = no_answer(port)
        if not error and not wanted.issubset(sites_at(port)):
            error = "another program does"
        if error:
            raise UserError(
                f"no websites answer on port {port} ({error}); start them by python -m environments.sites "
                f"--port {port}, or tell by --sites_port where they are"
            )
