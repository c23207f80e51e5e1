"""adb's server, which holds the connections to devices: the one that runs, or one of our own that dies with us."""

import asyncio
import contextlib
import os
import shlex
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

from common.errors import UserError
from common.processes import die_with_parent, hold

PORT = 5037  # where servers are by default
VARIABLES = ("ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_ADB_SERVER_PORT")
START_S = 60.0
INSTALL = "pip install 'elcano[android]'"


def adb_program() -> str:
    """The path of `adb`, the one of adbutils where the machine has none.

    Raises:
        UserError: adbutils is not installed, or has none for this machine.
    """
    try:
        from adbutils import adb_path
        from adbutils.errors import AdbError
    except ModuleNotFoundError:
        raise UserError(f"devices need the package adbutils: {INSTALL}") from None
    try:
        return adb_path()
    except AdbError as error:
        raise UserError(f"there is no program adb ({error}); install Android's platform tools") from None


def server_command(program: str, port: int) -> list[str]:
    """A server in the foreground: it starts no other process and answers on this machine alone."""
    return [program, "-L", f"tcp:localhost:{port}", "server", "nodaemon"]


@contextlib.asynccontextmanager
async def adb_server(address: str = "", home: Path | None = None) -> AsyncIterator[tuple[str, int]]:
    """(host, port) of a server until the block ends.

    Args:
        address: HOST:PORT of one that runs, on this machine or another. Empty: the one that the program adb would ask,
            by its variables or at its port of this machine, if any, and else one of our own, at another port.
        home: where our own finds its key, `.android/adbkey`; None: the user's.

    Raises:
        UserError: none answers there, or ours does not start.
    """
    usual_address, usual_port = _usual() if home is None and not address else ("", 0)
    address = address or usual_address
    host, _, port = address.rpartition(":")
    if address:
        if not port.isdigit() or not await _answers(host or "127.0.0.1", int(port)):
            raise UserError(f"no server of adb answers at {address!r}; give HOST:PORT of one")
        yield host or "127.0.0.1", int(port)
    elif usual_port and await _answers("127.0.0.1", usual_port):
        yield "127.0.0.1", usual_port
    else:
        with hold() as held:
            own_port = held.getsockname()[1]
            process = _start(home, own_port)
            try:
                await _wait(process, own_port)
                yield "127.0.0.1", own_port
            finally:
                process.kill()
                await asyncio.to_thread(process.wait)


def _usual() -> tuple[str, int]:
    """Which server the program adb asks: (HOST:PORT where its variables name one, "" elsewhere; its port here)."""
    socket, host, port = (os.environ.get(name, "") for name in VARIABLES)
    port = port or str(PORT)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UserError(f"{VARIABLES[2]} is no port: {port!r}")
    return socket.removeprefix("tcp:") or (f"{host}:{port}" if host else ""), int(port)


def _start(home: Path | None, port: int) -> subprocess.Popen[bytes]:
    """In this thread: a process that dies with its parent dies with the thread that started it."""
    return subprocess.Popen(
        server_command(adb_program(), port),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ if home is None else {**os.environ, "HOME": str(home)},
        preexec_fn=die_with_parent,
    )


async def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_S
    while not await _answers("127.0.0.1", port):
        if time.monotonic() > deadline or process.poll() is not None:
            raise UserError(f"the server of adb did not start: {shlex.join(server_command('adb', port))}")
        await asyncio.sleep(0.02)


async def _answers(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), timeout=5)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
