"""Devices over adb as environments: what is observed and done, how episodes begin, and what becomes of broken ones."""

import asyncio
import base64
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.errors import UserError
from data.actions.action import ActionError, Answer, Click, GoBack, Restart, Scroll, Type
from data.actions.point_action import ClickAt, DragAt, GoTo, HoverAt, Press, ScrollAt, Write
from data.actions.screen import Point
from data.task import Task
from environments.android import devices as devices_module
from environments.android.adb import Adb, Output
from environments.android.config import DeviceConfig
from environments.android.device import HELD, LOCK, TAKEN, AndroidDevice, has_keys
from environments.android.devices import Devices, opened_devices
from environments.android.hosts import Attached
from environments.android.server import VARIABLES
from environments.android.server import adb_server as opened_server
from environments.faults import DeviceError, PageError
from environments.touch.screen import Element
from tests.conftest import ROOT
from tests.environments.adb_clients import color, phone
from tests.environments.android_devices import (
    TASK,
    begun,
    opened,
    start_phone,
)
from tests.environments.recording_screen import SIZE, RecordingScreen

pytest.importorskip("adbutils", reason="elcano[android]")


def test_an_episode_on_a_device(adb_server: str) -> None:
    screen = RecordingScreen()

    async def go(address: str) -> None:
        config = DeviceConfig((address,), adb_server, tree=True, clear_apps=("org.elcano.clock",))
        async with opened(config) as take, await take() as environment:
            await environment.reset(TASK)
            assert screen.done == [("clear", "org.elcano.clock"), ("key", "home"), ("start", "org.elcano.clock")]
            screen.done.clear()
            seen = await environment.observe()
            assert seen.url == "android://org.elcano.clock" and seen.viewport == SIZE and seen.screen.screenshot == SIZE
            assert seen.tree == (
                "[1] button 'Save \"all\" & <go>'\n[2] textbox 'Name'\n[3] switch 'Wi-Fi' checked: true"
            )
            for action in (
                ClickAt(Point(20, 30)),
                ClickAt(Point(1, 2), "right"),
                DragAt(Point(5, 6), Point(7, 8)),
                ScrollAt(0, 300),
                Write("a b%s", Point(9, 9), enter=True),
                Click(1),
                Type(2, "Grüße"),
                Scroll(None, "up"),
                GoBack(),
                Restart(),
                Press(("Enter",)),
                GoTo("app:Clock"),
                GoTo("example.org/Error"),
                Answer("done"),
            ):
                await environment.act(action)
            for action in (
                HoverAt(Point(1, 1)),
                Press(("Control", "a")),
                Click(9),
                ClickAt(Point(1, 1), "middle"),
                GoTo("app:Maps"),
                GoTo("http://phone.localhost:7070/start/3"),
                GoTo("ph%6Fne.Localhost/start/3"),
            ):
                with pytest.raises(ActionError):
                    await environment.act(action)
            kept = await environment.final_state()
            assert kept["final_state"] == {"front": "org.elcano.clock", "text": screen.text}
            assert color(base64.b64decode(kept["final_screen"]["png"])) == len(screen.done)
            assert environment.provenance["device"]["model"] == "Touch screen"

    with phone(screen) as address:
        asyncio.run(go(address))
    height = SIZE[1]
    assert screen.done == [
        ("tap", 20, 30),
        ("swipe", 1, 2, 1, 2, 800),
        ("swipe", 5, 6, 7, 8, 300),
        ("swipe", 206, 608, 206, 308, 300),
        ("tap", 9, 9),
        ("type", "a b%"),
        ("type", "s"),
        ("key", "enter"),
        ("tap", 60, 40),
        ("tap", 205, 100),
        ("type", "Grüße"),
        ("key", "enter"),
        ("swipe", 206, round(height / 2 - height / 3), 206, round(height / 2 + height / 3), 300),
        ("key", "back"),
        ("key", "home"),
        ("key", "enter"),
        ("start", "org.elcano.clock"),
        ("view", "https://example.org/Error"),
    ]


def test_an_app_that_is_not_there_is_no_fault_of_the_device(adb_server: str) -> None:
    async def go(address: str) -> None:
        async with opened(DeviceConfig((address,), adb_server)) as take:
            for web in ("android://org.elcano.nothing", "android://org.elcano.clock"):
                environment = await take()
                missing = pytest.raises(PageError, match="nothing") if "nothing" in web else contextlib.nullcontext()
                with missing:
                    await environment.reset(Task("x", "x", web))
                assert environment.dead_host is None
                await environment.close()
        async with opened(DeviceConfig((address,), adb_server, clear_apps=("org.elcano.nothing",))) as take:
            with pytest.raises(UserError, match="no such app"):
                await begun(take)

    with phone(RecordingScreen()) as address:
        asyncio.run(go(address))


def test_a_screen_that_cannot_be_read(adb_server: str) -> None:
    """No text is typed behind what should have been replaced; half a screenshot is a fault of the device."""

    class Unreadable(RecordingScreen):
        async def tree(self) -> list[Element]:
            raise PageError("it moves")

        async def screenshot(self) -> bytes:
            whole = await super().screenshot()
            return b"[Warning] Two displays\n" + (whole[: len(whole) // 2] if self.text else whole) + b"\nbye"

    screen = Unreadable()

    async def go(address: str) -> None:
        async with opened(DeviceConfig((address,), adb_server)) as take, await begun(take) as environment:
            seen = await environment.observe()
            assert base64.b64decode(seen.screenshot_base64).endswith(b"IEND\xaeB`\x82")
            with pytest.raises(ActionError) as refused:
                await environment.act(Write("new", Point(9, 9), replace=True))
            assert "not typed" in refused.value.reason and screen.text == ""
            await environment.act(Write("new"))
            with pytest.raises(DeviceError, match="no whole PNG"):
                await environment.observe()

    with phone(screen) as address:
        asyncio.run(go(address))


@pytest.mark.parametrize(
    "text",
    ["-d --help", 'it\'s "q" $HOME `id` \\ ; & | <>', "100% sure: %s %%s", "😀\r\nGrüße", "bell\x07", "y " * 40_000],
)
def test_any_text_arrives(text: str, adb_server: str) -> None:
    """Whatever a model wants to type: it is no fault of the device."""
    screen = RecordingScreen()

    async def go(address: str) -> None:
        async with opened(DeviceConfig((address,), adb_server)) as take, await begun(take) as environment:
            await environment.observe()
            screen.done.clear()
            await environment.act(Write(text))

    with phone(screen) as address:
        asyncio.run(go(address))
    assert "".join(what[1] if what[0] == "type" else "\n" for what in screen.done) == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "has_them"), [("a b%\t\n~", True), ("bell\x07", False), ("é", False), ("\x7f", False)]
)
def test_characters_that_no_key_types(text: str, has_them: bool) -> None:
    """`input text` of a device fails on them."""
    assert has_keys(text) is has_them


def test_a_long_text_is_erased_in_pieces_that_a_shell_takes() -> None:
    lines = []

    class Shell:
        async def shell(self, serial: str, line: str) -> Output:
            lines.append(line)
            return Output(0, b"", b"")

    assert asyncio.run(AndroidDevice(Shell(), "serial").erase(1000))
    assert sum(line.count("KEYCODE_DEL") for line in lines) == 1000
    assert max(map(len, lines)) < 2048


def test_devices_side_by_side_and_one_run_each(adb_server: str, capfd: pytest.CaptureFixture) -> None:
    """Three episodes at the same time on two devices: nobody meets another; a second run waits for the first."""
    screens = [RecordingScreen(), RecordingScreen()]

    async def go(addresses: tuple[str, str]) -> None:
        config = DeviceConfig(addresses, adb_server)
        async with opened(config, 3) as take, opened(config, 3) as take_of_others:
            first, second = await asyncio.gather(begun(take), begun(take))
            third = asyncio.create_task(begun(take))
            others = asyncio.create_task(begun(take_of_others))
            await asyncio.sleep(1)
            assert not third.done() and not others.done()
            await first.close()
            await second.close()
            for environment in await asyncio.gather(third, others):
                await environment.close()

    with phone(screens[0]) as one, phone(screens[1]) as two:
        asyncio.run(go((one, two)))
    assert sorted(len([what for what in screen.done if what[0] == "start"]) for screen in screens) in ([2, 2], [1, 3])
    said = [line for line in capfd.readouterr().err.splitlines() if "another run has it" in line]
    assert said and len(said) == len(set(said))  # once of a device


@pytest.mark.parametrize("is_back_at_once", [False, True])
def test_a_device_that_dies_is_a_fault_and_comes_back(is_back_at_once: bool, adb_server: str, tmp_path: Path) -> None:
    """kill -9 of what stands for the device, in the middle of an episode. It may be there again at the next look,
    without what was done on it."""
    process, address = start_phone(tmp_path / "done")

    async def reconnected() -> None:
        host, _, port = adb_server.rpartition(":")
        adb = Adb(host, int(port))
        await adb.disconnect(address)
        await adb.connect(address)

    async def go() -> None:
        nonlocal process
        async with opened(DeviceConfig((address,), adb_server)) as take:
            environment = await begun(take)
            await environment.observe()
            process.kill()
            process.wait()
            if is_back_at_once:
                process, _ = start_phone(tmp_path / "done", address.rpartition(":")[2])
                await reconnected()
            with pytest.raises(DeviceError):
                await environment.observe()
            assert environment.dead_host is not None
            await environment.close()
            if not is_back_at_once:
                process, _ = start_phone(tmp_path / "done", address.rpartition(":")[2])
            again = await begun(take)
            assert (await again.observe()).viewport == SIZE
            await again.close()

    try:
        asyncio.run(go())
    finally:
        process.kill()
        process.wait()


def test_a_run_without_any_device_left_says_so(
    adb_server: str, dead_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices_module, "RETRY_S", 0.01)

    config = DeviceConfig((f"127.0.0.1:{dead_port}",), adb_server)

    async def go() -> None:  # once they have begun
        host, port = adb_server.split(":")
        adb = Adb(host, int(port))
        devices = Devices(adb, [Attached(adb, config.devices[0])], config)
        for _ in range(2):
            with pytest.raises(DeviceError, match="no device is left"):
                await devices.take()
        await devices.close()

    asyncio.run(go())
    with pytest.raises(UserError, match="none of the devices can be used"):
        asyncio.run(opened_devices(config, 1).__aenter__())
    with pytest.raises(UserError, match="attach one"):
        asyncio.run(opened_devices(DeviceConfig(adb_server=adb_server), 1).__aenter__())


def test_the_server_is_the_one_that_the_program_adb_asks(adb_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def used() -> str:
        async with opened_server() as (host, port):
            return f"{host}:{port}"

    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    socket, _, port = VARIABLES
    for name, value in ((socket, f"tcp:{adb_server}"), (port, adb_server.rpartition(":")[2])):
        monkeypatch.setenv(name, value)
        assert asyncio.run(used()) == adb_server
        monkeypatch.delenv(name)
    for name, value in ((socket, "localfilesystem:/x"), (port, "abc")):
        monkeypatch.setenv(name, value)
        with pytest.raises(UserError, match=value):
            asyncio.run(used())
        monkeypatch.delenv(name)


def test_without_a_server_of_adb_none_is_started(dead_port: int) -> None:
    """adbutils by itself leaves one behind."""

    async def go() -> None:
        with pytest.raises(DeviceError):
            await Adb("127.0.0.1", dead_port).devices()

    before = {process.pid for process in psutil.process_iter() if process.name() == "adb"}
    asyncio.run(go())
    assert not {process.pid for process in psutil.process_iter() if process.name() == "adb"} - before


@pytest.mark.parametrize("shell", ["sh", "mksh"])
def test_a_lock_says_whether_another_has_it_or_there_is_none(shell: str, tmp_path: Path) -> None:
    """In real shells, Android's among them: where another run has the device, and where the device has no `flock`."""
    program = shutil.which(shell) or pytest.skip(f"needs {shell}")
    line = LOCK.replace("/data/local/tmp", str(tmp_path))

    def said(**environment: str) -> list[str]:
        done = subprocess.run([program, "-c", line], input=b"", capture_output=True, env=environment)
        return done.stdout.decode().split()

    assert said(PATH=os.environ["PATH"])[0] == HELD
    with (tmp_path / "elcano.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert said(PATH=os.environ["PATH"]) == [TAKEN]
    without = said(PATH=str(tmp_path))
    assert without and not {HELD, TAKEN} & set(without)


CLIENT = """
import asyncio, sys
from environments.android.config import DeviceConfig
from environments.android.devices import Devices, opened_devices
from environments.android.hosts import Attached
async def main():
    async with opened_devices(DeviceConfig((sys.argv[1],), sys.argv[2]), 1) as devices:
        lease = await devices.take()
        print("taken", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


def test_a_client_that_is_killed_leaves_its_device_free(adb_server: str) -> None:
    screen = RecordingScreen()
    with phone(screen) as address:
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, address, adb_server], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert client.stdout.readline() == "taken\n"

        async def go() -> None:
            async with opened(DeviceConfig((address,), adb_server)) as take:
                waiting = asyncio.create_task(begun(take))
                await asyncio.sleep(0.5)
                assert not waiting.done()
                client.kill()
                client.wait()
                await (await asyncio.wait_for(waiting, 60)).close()

        asyncio.run(go())
