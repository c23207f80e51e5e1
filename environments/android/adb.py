"""A device's shell by adbutils, without blocking: each call in a thread, with a time in which it must be over."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from common.background import await_in_thread
from environments.faults import DeviceError

if TYPE_CHECKING:
    from adbutils import AdbDevice

Result = TypeVar("Result")
TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Output:
    """Of a command: its exit code and what it said."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Both, for people."""
        return (self.out + self.err).decode(errors="replace").strip()


@dataclass(frozen=True)
class Held:
    """A command line that goes on. `said`: its answer, empty where it ended without one."""

    said: str
    connection: Any

    @property
    def is_open(self) -> bool:
        """Whether it still goes on, as far as is known."""
        self.connection.conn.setblocking(False)
        try:
            return self.connection.conn.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """End it."""
        self.connection.close()


class Adb:
    """What a server of adb knows. Its methods raise DeviceError where a device does not answer."""

    def __init__(self, host: str, port: int):
        from environments.android.client import Client  # which imports adbutils, an optional package

        self._client = Client(host, port)
        self._devices: dict[str, AdbDevice] = {}

    async def shell(self, serial: str, command: str, timeout_s: float = TIMEOUT_S) -> Output:
        """Run a command line."""

        def run() -> Any:
            return self._device(serial).shell2(command, timeout=timeout_s, encoding=None, v2=True)

        result = await self._call(serial, run, timeout_s)
        return Output(result.returncode, result.stdout, result.stderr)

    async def done(self, serial: str, command: str, timeout_s: float = TIMEOUT_S) -> bytes:
        """The standard output of a command line that must succeed."""
        output = await self.shell(serial, command, timeout_s)
        if output.code:
            raise DeviceError(f"{serial}: {command.split()[0]} failed ({output.code}): {output.text[-200:]}")
        return output.out

    async def connect(self, serial: str, timeout_s: float = TIMEOUT_S) -> None:
        """Make the server reach a device by its HOST:PORT."""
        said = await self._call(serial, lambda: self._client.connect(serial, timeout=timeout_s), timeout_s)
        if "connected to" not in said or "cannot" in said or "unable" in said or "failed" in said:
            raise DeviceError(f"{serial}: {said}")

    async def disconnect(self, serial: str) -> None:
        """The opposite; never fails."""
        with contextlib.suppress(DeviceError):
            await self._call(serial, lambda: self._client.disconnect(serial), TIMEOUT_S)

    async def devices(self) -> dict[str, str]:
        """The state of each device, `device` where it can be used, by its serial."""
        found = await self._call("adb", self._client.list, TIMEOUT_S)
        return {info.serial: info.state for info in found}

    async def hold(self, serial: str, command: str, answers: Sequence[str]) -> Held:
        """Start a command line that may go on after it said one of these lines. It ends with us, too."""

        def run() -> Held:
            connection = self._device(serial).open_shell(command)
            connection.conn.settimeout(TIMEOUT_S)
            said = b""
            while more := connection.recv(4096):
                said += more
                if found := set(said.decode(errors="replace").split()) & set(answers):
                    return Held(found.pop(), connection)
            return Held("", connection)

        return await self._call(serial, run, TIMEOUT_S)

    def _device(self, serial: str) -> "AdbDevice":
        """Kept, since it asks for its features once."""
        return self._devices.setdefault(serial, self._client.device(serial))

    async def _call(self, serial: str, run: Callable[[], Result], timeout_s: float) -> Result:
        from adbutils.errors import AdbError

        try:
            return await asyncio.wait_for(await_in_thread(run), timeout_s + 5)  # the socket's own time is over before
        except (AdbError, OSError, EOFError, ValueError, TimeoutError) as error:
            raise DeviceError(f"{serial}: {str(error) or type(error).__name__}") from None
