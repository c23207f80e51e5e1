"""Warm servers: an episode takes one for itself, and gives it back put back."""

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from common.errors import UserError
from common.reaper import scratch
from environments.apps.application import Application
from environments.apps.sandbox import complaint
from environments.apps.server import Server
from environments.faults import PageError


class Servers:
    """As many of each application as there are episodes in it at the same time. Use as `with`; none outlives it.

    Browsers find them at `port` of the application's host.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: dict[str, list[Server]] = {}
        self._all: list[Server] = []
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(scratch("elcano-apps-"))  # what Fossil starts beside itself ends, too
        self._starting = asyncio.Lock()  # one after another: each takes a core while it starts

    def __enter__(self) -> Self:
        if said := complaint():
            print(said, file=sys.stderr)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        for server in self._all:
            server.stop()
        self._stack.close()

    async def take(self, app: Application) -> Server:
        """One that is as the seed.

        Raises:
            PageError: none starts.
        """
        while idle := self._idle.setdefault(app.name, []):
            server = idle.pop()
            if server.alive and await asyncio.to_thread(self._restored, server):
                return server
            self._drop(server)
        server = Server(app, Path(tempfile.mkdtemp(dir=self._folder)))
        self._all.append(server)
        try:
            async with self._starting:
                await server.start(host=app.host, router_port=self._port)
        except UserError as error:
            self._drop(server)
            raise PageError(str(error)) from None
        return server

    def give_back(self, server: Server) -> None:
        """It is put back when it is taken next."""
        self._idle[server.app.name].append(server)

    def _restored(self, server: Server) -> bool:
        with contextlib.suppress(Exception):  # an agent may have done anything to it; another one starts
            return server.restore()
        return False

    def _drop(self, server: Server) -> None:
        self._all.remove(server)
        server.stop()
