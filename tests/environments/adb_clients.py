"""Three clients of adb that others wrote, each driven in the same few ways; and a phone for them to meet."""

import asyncio
import contextlib
import io
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from environments.android.daemon.daemon import daemon
from environments.android.daemon.keys import PublicKey
from environments.android.server import adb_program, adb_server
from environments.touch.screen import TouchScreen


@contextlib.contextmanager
def phone(screen: TouchScreen, keys: Sequence[PublicKey] | None = None) -> Iterator[str]:
    """The daemon in a thread of its own; gives HOST:PORT."""
    with in_background(daemon(screen, keys)) as port:
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def server(home: Path) -> Iterator[int]:
    """A server of adb whose key lies in `home`; gives its port."""
    loop = asyncio.new_event_loop()
    block = adb_server(home=home)
    _, port = loop.run_until_complete(block.__aenter__())  # in this thread: the server dies with it
    try:
        yield port
    finally:
        loop.run_until_complete(block.__aexit__(None, None, None))
        loop.close()


@contextlib.contextmanager
def in_background(block):
    """An asynchronous `with`, entered in a thread's event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        given = asyncio.run_coroutine_threadsafe(block.__aenter__(), loop).result(10)
        try:
            yield given
        finally:
            asyncio.run_coroutine_threadsafe(block.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def make_key(folder: Path) -> Path:
    """A pair of keys of adb: `.android/adbkey`, and its public half beside it, which this gives."""
    (folder / ".android").mkdir(parents=True)
    subprocess.run([adb_program(), "keygen", str(folder / ".android" / "adbkey")], check=True, capture_output=True)
    return folder / ".android" / "adbkey.pub"


class RefusedError(Exception):
    """The phone does not let the client in."""


class Program:
    """The program `adb`, Debian's where it is installed."""

    def __init__(self, home: Path, server_port: int, address: str):
        self._command, self._address = [adb_program(), "-P", str(server_port)], address
        self._environment = {**os.environ, "HOME": str(home)}

    def connect(self) -> None:
        said = self._run("connect", self._address).stdout.decode()
        if "failed" in said or "unable" in said:
            raise RefusedError(said)

    def shell(self, command: str) -> tuple[int, str]:
        done = self._run("-s", self._address, "shell", command)
        return done.returncode, done.stdout.decode()

    def screenshot(self) -> bytes:
        return self._run("-s", self._address, "exec-out", "screencap -p").stdout

    def do(self, *words: str) -> None:
        assert self._run("-s", self._address, "shell", *words).returncode == 0

    def _run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([*self._command, *words], capture_output=True, env=self._environment, timeout=60)


class Adbutils:
    """The package of this name, by way of a server of adb."""

    def __init__(self, home: Path, server_port: int, address: str):
        import adbutils

        self._client = adbutils.AdbClient(port=server_port)
        self._address = address

    def connect(self) -> None:
        said = self._client.connect(self._address)
        if "failed" in said or "unable" in said:
            raise RefusedError(said)
        self._device = self._client.device(self._address)

    def shell(self, command: str) -> tuple[int, str]:
        done = self._device.shell2(command, v2=True)
        return done.returncode, done.output

    def screenshot(self) -> bytes:
        picture = io.BytesIO()
        self._device.screenshot(error_ok=False).save(picture, "PNG")
        return picture.getvalue()

    def do(self, *words: str) -> None:
        match words:
            case ["input", "tap", x, y]:
                self._device.click(int(x), int(y))
            case ["input", "swipe", x1, y1, x2, y2, ms]:
                self._device.swipe(int(x1), int(y1), int(x2), int(y2), int(ms) / 1000)
            case ["input", "text", text]:
                self._device.send_keys(text)
            case ["input", "keyevent", key]:
                self._device.keyevent(key)
            case _:
                raise AssertionError(words)


class AdbShell:
    """The package adb-shell, which needs no server."""

    def __init__(self, home: Path, server_port: int, address: str):
        from adb_shell.adb_device import AdbDeviceTcp

        host, _, port = address.partition(":")
        self._device, self._home = AdbDeviceTcp(host, int(port)), home

    def connect(self) -> None:
        from adb_shell.auth.sign_pythonrsa import PythonRSASigner
        from adb_shell.exceptions import AdbTimeoutError, DeviceAuthError, TcpTimeoutException

        signer = PythonRSASigner.FromRSAKeyPath(str(self._home / ".android" / "adbkey"))
        try:
            self._device.connect([signer], auth_timeout_s=0.5)
        except (AdbTimeoutError, DeviceAuthError, TcpTimeoutException) as error:
            self._device.close()
            raise RefusedError(str(error)) from None

    def shell(self, command: str) -> tuple[int, str]:
        said = self._device.shell(f"{command}; echo $?")
        *lines, code = said.splitlines()
        return int(code), "\n".join(lines)

    def screenshot(self) -> bytes:
        return self._device.exec_out("screencap -p", decode=False)

    def do(self, *words: str) -> None:
        assert self._device.shell(" ".join(words)) == ""

    def close(self) -> None:
        self._device.close()


CLIENTS = {"adb": Program, "adbutils": Adbutils, "adb-shell": AdbShell}


def color(png: bytes) -> int:
    """How often the recording screen had been touched when this was its screenshot."""
    return Image.open(io.BytesIO(png)).convert("RGB").getpixel((200, 400))[0]
