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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from common.errors import UserError
from common.processes import die_with_parent

log = logging.getLogger("elcano.server")

_PAUSE_S = 5.0
_DRAIN_S = 900.0  # longer than a request may take by default
_HEALTH_S = 30.0  # a replica that does not even say how it is for so long counts as stuck


@dataclasses.dataclass(eq=False)
class Replica:
    """One server process. `url` is empty while no request may go there."""

    command: list[str]
    process: subprocess.Popen | None = None
    url: str = ""
    in_flight: int = 0
    dismissed_at: float | None = None

    def start(self, folder: Path) -> None:
        """Launch it with the weights in `folder`; `wait_ready` says when it serves."""
        command = [*self.command, "--model_name_or_path", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.dismissed_at = None

    def wait_ready(self) -> tuple[str, str]:
        """Its address and its weights version; raises `UserError` when it ends instead of serving."""
        line = self.process.stdout.readline()
        if not line.startswith("serving "):
            raise UserError("a replica ended at its start; what it said is above")
        url = line.strip().rpartition(" on ")[2]
        return url, httpx.get(f"{url}/health", timeout=_HEALTH_S, trust_env=False).json()["weights_version"]

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """A request is under way there."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def notice_end(self) -> None:
        """No further requests if the process has ended; it is started again soon."""
        if self.process.poll() is not None:
            self.url = ""

    def dismiss(self) -> None:
        """No further requests; the process ends when those under way are answered, and is started again."""
        self.url = ""
        self.dismissed_at = time.monotonic()
        self.process.terminate()

    @property
    def overdue(self) -> bool:
        """Whether it was dismissed so long ago that it hangs."""
        return self.dismissed_at is not None and time.monotonic() - self.dismissed_at > _DRAIN_S

    def kill(self) -> None:
        """No further requests, and an end at once."""
        self.url = ""
        self.process.kill()

    def stop(self) -> None:
        """Let it finish what is under way."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


class Fleet:
    """Keeps the replicas alive and of one version. All but `start` belongs to the event loop."""

    def __init__(self, replicas: Sequence[Replica], folder: Path):
        self.replicas = replicas
        self.folder, self.version = folder.resolve(), ""  # wanted; a version is known when the first replica serves
        self.reloading = asyncio.Lock()  # replicas change one by one while it is held

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

    def change(self, folder: Path, versions: Mapping[subprocess.Popen, str]) -> None:
        """The processes in `versions` have loaded `folder`; whatever else runs by now must begin anew with it."""
        self.folder, self.version = folder.resolve(), next(iter(versions.values()))
        for replica in self.replicas:
            if versions.get(replica.process) != self.version:
                log.error("a replica did not reload; starting it again with %s", folder)
                replica.dismiss()

    async def keep(self) -> None:
        """Until cancelled: start again what has ended, end what is dead inside or stuck."""
        async with httpx.AsyncClient(timeout=_HEALTH_S, trust_env=False) as client:
            await asyncio.gather(*(self._keep(replica, client) for replica in self.replicas))

    async def _keep(self, replica: Replica, client: httpx.AsyncClient) -> None:
        while True:
            await asyncio.sleep(_PAUSE_S)
            try:
                if replica.process.poll() is not None:
                    log.error("a replica ended with code %s; starting it again", replica.process.returncode)
                    replica.url = ""
                    replica.start(self.folder)
                    self._admit(replica, *await asyncio.to_thread(replica.wait_ready))
                elif replica.overdue:
                    replica.kill()
                elif replica.url:
                    await self._examine(replica, client)
            except Exception as error:  # whatever it is, the next round tries again
                log.error("a replica did not start: %r", error)

    async def _examine(self, replica: Replica, client: httpx.AsyncClient) -> None:
        """End what is dead inside or stuck; dismiss what changed its weights behind our back."""
        wanted, settled = self.version, not self.reloading.locked()
        state, version = await _state(client, replica.url)
        if state != "ok":
            log.error("a replica is %s; starting it again", state)
            replica.kill()
        elif version != wanted == self.version and settled and not self.reloading.locked():
            log.error("a replica serves %s, wanted is %s; starting it again", version, wanted)
            replica.dismiss()

    def _admit(self, replica: Replica, url: str, version: str) -> None:
        """Requests may go to it, if its weights are the wanted ones and it was not dismissed while it loaded them."""
        if replica.dismissed_at is not None:
            return
        if version != self.version and any(one.url for one in self.replicas):
            replica.dismiss()
            raise UserError(
                f"{self.folder} holds {version}, others serve {self.version}; POST /reload changes them all"
            )
        self.version, replica.url = version, url


async def _state(client: httpx.AsyncClient, url: str) -> tuple[str, str]:
    """How a replica is, and its weights version."""
    try:
        health = (await client.get(f"{url}/health")).json()
        return health["status"], health["weights_version"]
    except (httpx.HTTPError, ValueError, KeyError):
        return "silent", ""


def replica_commands(arguments: Sequence[str], num_replicas: int, device: str) -> list[list[str]]:
    """The command of each replica but for its weights: this one's own with another port, and its own GPU when there
    are several."""
    server = str(Path(__file__).with_name("hf_online_server.py"))
    commands = []
    for number in range(num_replicas):
        own = f"cuda:{number}" if device == "cuda" else device
        tail = ["--port", "0", "--host", "127.0.0.1", "--replicas", "1", "--device", own, "--access_log", ""]
        commands.append([sys.executable, server, *arguments, *tail])
    return commands
