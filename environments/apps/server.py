"""A running application: its process group, its state, its log."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from common.processes import hold
from environments.apps.application import HERE, Application
from environments.apps.changes import changes
from environments.apps.clock import BEGIN, ahead_s, environment
from environments.apps.sandbox import Sandbox

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0
MAX_LOGS = 40  # files


class Server:
    """Begins as the seed. It listens on 127.0.0.1 alone, and dies with us."""

    def __init__(self, app: Application, folder: Path):
        self.app, self.state, self.port = app, folder / "state", 0
        self.ready_s, self._started = 0.0, 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self.log = Path()

    async def start(self, port: int = 0, host: str = "127.0.0.1", router_port: int = 0) -> None:
        """Until it answers. Browsers find it at `host`, and at the router's port if there is one, else at its own.

        Raises:
            UserError: it does not; the message is the last line of its log.
        """
        begin = time.monotonic()
        await asyncio.to_thread(shutil.copytree, self.app.seed / "state", self.state)
        with hold(port) as held:
            self.port = held.getsockname()[1]
            self.address = self.app.address(f"http://{host}:{router_port or self.port}")
            await self._launch(begin)

    async def _launch(self, begin: float) -> None:
        self.log = _new_log(self.app)
        with open(self.log, "wb") as log:
            self._started = time.time()
            own = str(self.state.parent)
            programs = (self.app.program, HERE)  # an application may begin by another's script, as a skin does
            with Sandbox(programs, self.state.parent, self.port) as sandbox:
                # not in a thread: Linux ends a child with the thread that it came from
                self._process = subprocess.Popen(
                    self.app.module("start").command(self.app.program, self.state, self.port, self.address),
                    cwd=self.state,
                    env=environment(self.app.program, BEGIN, HOME=own, TMPDIR=own),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=sandbox.enter,
                )
        while not await asyncio.to_thread(self._answers):
            if self._process.poll() is not None or time.monotonic() - begin > READY_TIMEOUT_S:
                self.stop()
                raise UserError(f"{self.app.title} did not start: {_last_line(self.log)} (its log: {self.log})")
            await asyncio.sleep(0.1)
        self.ready_s = time.monotonic() - begin

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def group(self) -> int:
        """Of its processes; 0 before it started."""
        return self._process.pid if self._process is not None else 0

    @property
    def ahead_s(self) -> float:
        """By how many seconds its clock is ahead of the machine's."""
        return ahead_s(self._started)

    def changes(self) -> dict[str, list[dict[str, Any]]]:
        """What was added and removed since the seed."""
        return changes(self.app.seed_records, self.app.records(self.state))

    def restore(self) -> bool:
        """Put the state of the running server back; whether it is the seed's again."""
        self.app.module("snapshot").restore(self.app.seed / "state", self.state)
        return not any(self.changes().values())

    def stop(self) -> None:
        """End its process group, and remove its state."""
        if self._process is not None:
            for kind, timeout_s in ((signal.SIGTERM, STOP_TIMEOUT_S), (signal.SIGKILL, None)):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, kind)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout_s)
        shutil.rmtree(self.state.parent, ignore_errors=True)

    def _answers(self) -> bool:
        url = self.app.address(f"http://127.0.0.1:{self.port}")
        request = urllib.request.Request(url, headers={"Host": urlsplit(self.address).netloc})
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _OwnRedirects())
            return opener.open(request, timeout=10).status == 200
        except urllib.error.HTTPError as error:
            return error.code < 400  # it leads to its address for browsers
        except (OSError, urllib.error.URLError):
            return False


class _OwnRedirects(urllib.request.HTTPRedirectHandler):
    """Follows none to another address: a router may not lead there yet."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _new_log(app: Application) -> Path:
    """Its name begins with the time, so that the oldest ones, which go, come first."""
    app.logs.mkdir(parents=True, exist_ok=True)
    for old in sorted(app.logs.glob("*.log"))[: -MAX_LOGS + 1]:
        old.unlink(missing_ok=True)
    return app.logs / f"{time.time_ns()}-{os.getpid()}.log"


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"
