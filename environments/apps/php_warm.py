"""Pages are asked for once while a seed is built: what PHP compiles for them, and what an application keeps of them,
is there when a server starts."""

import contextlib
import http.client
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from common.errors import UserError
from common.processes import die_with_parent, free_port
from environments.apps.clock import BEGIN, environment

_TIMEOUT_S = 120.0


def warm(
    program: Path,
    state: Path,
    command: Callable[[int], list[str]],
    start: str,
    cookies: Mapping[str, str],
    pages: Iterable[str],
) -> None:
    """At the moment at which servers start, since applications keep things for a day.

    Args:
        command: the server's command line at a port.
        start: the page that answers once the server is ready, and then `pages`, each as a path.

    Raises:
        UserError: the application does not answer.
    """
    port = free_port()
    where = environment(program, BEGIN, HOME=str(state), TMPDIR=str(state))
    address, nowhere = f"http://127.0.0.1:{port}", subprocess.DEVNULL
    with subprocess.Popen(
        command(port),
        env=where,
        cwd=state,
        preexec_fn=die_with_parent,
        start_new_session=True,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
    ) as server:
        try:
            _until_answered(lambda: _get(f"{address}{start}", cookies))
            for page in pages:
                _get(f"{address}{page}", cookies)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)


def _get(url: str, cookies: Mapping[str, str]) -> None:
    said = "; ".join(f"{name}={value}" for name, value in cookies.items())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, headers={"Cookie": said}), timeout=_TIMEOUT_S).read()


def _until_answered(ask: Callable[[], None]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            return ask()
        except (OSError, urllib.error.URLError, http.client.HTTPException) as error:
            if time.monotonic() > deadline:
                raise UserError(f"the application does not answer after it was filled: {error}") from None
            time.sleep(0.1)
