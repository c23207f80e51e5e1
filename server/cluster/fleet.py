"""Fleet: several server processes that serve the wanted weights, or nothing.

What is wanted, the fleet remembers: the folder of the last reload that succeeded. A replica that died, is stuck or
failed a reload is started again with it, and serves no request before its weights are the wanted ones.
"""

import asyncio
import contextlib
import dataclasses
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import httpx

from common.errors import UserError
from common.files import parse_json
from common.network.bounded_http import BoundedAsyncClient, BoundedClient
from common.processes import die_with_parent

log = logging.getLogger("elcano.server")

_PAUSE_S = 5.0
_DRAIN_S = 900.0  # longer than a request may take by default
_HEALTH_S = 30.0  # a replica that does not even say how it is for so long counts as stuck
_END_S = 30.0
COUNTS = ("num_waiting", "num_running", "num_finished")
"""Of requests, in what a replica says of its health."""
CONNECT_S = 5.0  # where nobody takes a connection for so long, nobody is


class Process(Protocol):
    """A server process, on this machine or on a node of a cluster (`node_process.py`)."""

    def address(self) -> str:
        """Its URL, once it serves; raises `UserError` when it ends instead."""
        ...

    def poll(self) -> int | None:
        """Its exit code, when it has ended."""

    def terminate(self) -> None:
        """Let it finish what is under way."""

    def kill(self) -> None:
        """End it at once."""

    def wait(self, timeout: float) -> object:
        """Until it has ended; where that takes longer than `timeout` seconds, any exception."""


class Child(subprocess.Popen[str]):
    """A `Process` on this machine, which ends with this one."""

    def __init__(self, command: Sequence[str]):
        super().__init__(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    def address(self) -> str:
        """As `Process`."""
        assert self.stdout is not None
        return announced(self.stdout.readline())


def announced(line: str) -> str:
    """The URL in a server's first line."""
    if not line.startswith("serving "):
        raise UserError("a replica ended at its start; what it said is above")
    return line.strip().rpartition(" on ")[2]


@dataclasses.dataclass(eq=False)
class Replica:
    """One server process after another. `url` is empty while no request may go there; nor may one while it is
    `doubted`, which the next look at it ends, or ends it."""

    command: list[str]
    launch: Callable[[Sequence[str]], Process] = Child
    process: Process | None = None
    url: str = ""
    dismissed_at: float | None = None
    doubted: bool = False
    in_flight: int = 0
    _awaited: set[asyncio.Timeout] = dataclasses.field(default_factory=set)

    @property
    def running(self) -> Process:
        """The process that was launched last."""
        assert self.process is not None
        return self.process

    def start(self, folder: Path) -> None:
        """Launch it with the weights in `folder`; `wait_ready` says when it serves."""
        self.process = self.launch([*self.command, "--model_name_or_path", str(folder)])
        self.dismissed_at = None

    def wait_ready(self) -> tuple[str, str]:
        """Its address and its weights version; raises `UserError` when it ends instead of serving."""
        url = self.running.address()
        with BoundedClient(timeout=_HEALTH_S, trust_env=False) as client:
            try:
                health = said_health(client.get(f"{url}/health"))
            except httpx.HTTPError as error:
                raise UserError(f"the replica at {url} does not answer: {error or type(error).__name__}") from None
        if health is None:
            raise UserError(f"the replica at {url} does not say how it is")
        return url, health["weights_version"]

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """A request is under way there."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    @contextlib.asynccontextmanager
    async def awaited(self) -> AsyncIterator[None]:
        """`TimeoutError` when it is killed meanwhile: a link that is cut says nothing."""
        async with asyncio.timeout(None) as patience:
            self._awaited.add(patience)
            try:
                yield
            finally:
                self._awaited.discard(patience)

    def notice_end(self) -> None:
        """No further requests if the process has ended; it is started again soon."""
        if self.running.poll() is not None:
            self.url = ""

    def dismiss(self) -> None:
        """No further requests; the process ends when those under way are answered, and is started again."""
        self.url = ""
        self.dismissed_at = time.monotonic()
        self.running.terminate()

    @property
    def overdue(self) -> bool:
        """Whether it was dismissed so long ago that it hangs."""
        return self.dismissed_at is not None and time.monotonic() - self.dismissed_at > _DRAIN_S

    def kill(self) -> None:
        """No further requests, and an end at once, also to those that await an answer."""
        self.url = ""
        if self.process is not None:
            self.process.kill()
        for patience in self._awaited:
            patience.reschedule(0)

    def stop(self) -> None:
        """End it; what is under way was awaited already, so one that takes long hangs."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(_END_S)
            except Exception as error:
                log.error("a replica does not end, and is killed: %r", error)
            self.process.kill()


class Fleet:
    """Keeps the replicas alive and of one version. All but `start` belongs to the event loop."""

    def __init__(self, replicas: Sequence[Replica], folder: Path):
        self.replicas = replicas
        self.folder, self.version = folder.resolve(), ""  # wanted; a version is known when the first replica serves
        self.reloading = asyncio.Lock()  # replicas change one by one while it is held
        self._starting = ThreadPoolExecutor(len(replicas))  # a thread each: on a cluster they may wait for a node

    def start(self) -> None:
        """Start all and wait until they serve; raises `UserError` when one does not."""
        for replica in self.replicas:
            replica.start(self.folder)
        try:
            for replica in self.replicas:
                self._admit(replica, *replica.wait_ready())
        except BaseException:
            for replica in self.replicas:
                replica.kill()
            raise

    def change(self, folder: Path, versions: Mapping[Process, str]) -> None:
        """The processes in `versions` have loaded `folder`; whatever else runs by now must begin anew with it."""
        self.folder, self.version = folder.resolve(), next(iter(versions.values()))
        for replica in self.replicas:
            if versions.get(replica.running) != self.version:
                log.error("a replica did not reload; starting it again with %s", folder)
                replica.dismiss()

    async def keep(self) -> None:
        """Until cancelled: start again what has ended, end what is dead inside or stuck."""
        patience = httpx.Timeout(_HEALTH_S, connect=CONNECT_S)
        anew = httpx.Limits(max_keepalive_connections=0)  # an old connection would not tell that a link is cut
        async with BoundedAsyncClient(timeout=patience, limits=anew, trust_env=False) as client:
            await asyncio.gather(*(self._keep(replica, client) for replica in self.replicas))

    async def _keep(self, replica: Replica, client: BoundedAsyncClient) -> None:
        while True:
            await asyncio.sleep(_PAUSE_S)
            try:
                if (code := replica.running.poll()) is not None:
                    log.error("a replica ended with code %s; starting it again", code)
                    replica.url = ""
                    replica.start(self.folder)
                    serves = asyncio.get_running_loop().run_in_executor(self._starting, replica.wait_ready)
                    self._admit(replica, *await serves)
                elif replica.overdue:
                    replica.kill()
                elif replica.url:
                    await self._examine(replica, client)
            except Exception as error:  # whatever it is, the next round tries again
                log.error("a replica did not start: %r", error)
                if not replica.url and replica.dismissed_at is None:  # it lives, and nobody would ask it again
                    replica.kill()

    async def _examine(self, replica: Replica, client: BoundedAsyncClient) -> None:
        """End what is dead inside or stuck; dismiss what changed its weights behind our back."""
        wanted, settled = self.version, not self.reloading.locked()
        state, version = await _state(client, replica.url)
        if state != "ok":
            log.error("a replica is %s; starting it again", state)
            replica.kill()
        elif version != wanted == self.version and settled and not self.reloading.locked():
            log.error("a replica serves %s, wanted is %s; starting it again", version, wanted)
            replica.dismiss()
        else:
            replica.doubted = False

    def _admit(self, replica: Replica, url: str, version: str) -> None:
        """Requests may go to it, if its weights are the wanted ones and it was not dismissed while it loaded them."""
        if replica.dismissed_at is not None:
            return
        if version != self.version and any(one.url for one in self.replicas):
            replica.dismiss()
            raise UserError(
                f"{self.folder} holds {version}, others serve {self.version}; POST /reload changes them all"
            )
        self.version, replica.url, replica.doubted = version, url, False


async def _state(client: BoundedAsyncClient, url: str) -> tuple[str, str]:
    """How a replica is, and its weights version."""
    try:
        health = said_health(await client.get(f"{url}/health"))
    except httpx.HTTPError:
        health = None
    return (health["status"], health["weights_version"]) if health else ("silent", "")


def said_health(answer: httpx.Response) -> dict[str, Any] | None:
    """What a replica says of itself; None where that is something else, as from one that is broken."""
    try:
        health = parse_json(answer.content)
    except ValueError:
        return None
    kinds = {"status": str, "weights_version": str, **dict.fromkeys(COUNTS, int)}
    known = isinstance(health, dict) and all(isinstance(health.get(name), kind) for name, kind in kinds.items())
    return health if known else None


def replica_command(arguments: Sequence[str], *flags: str) -> list[str]:
    """This process's own `arguments` for a replica, but for its weights: with another port, and with `flags`."""
    server = str(Path(__file__).parent.parent / "hf_online_server.py")
    return [sys.executable, server, *arguments, "--port", "0", "--replicas", "1", "--access_log", "", *flags]
