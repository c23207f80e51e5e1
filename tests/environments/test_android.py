"""Devices over adb as environments: what is observed and done, how episodes begin, and what becomes of broken ones."""

import asyncio
import base64
import contextlib
import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from common.errors import UserError
from common.processes import free_port
from data.action import ActionError, Answer, Click, GoBack, Restart, Scroll, Type
from data.point_action import ClickAt, DragAt, GoTo, HoverAt, Press, ScrollAt, Write
from data.screen import Point
from data.task import Task
from environments.android import devices as devices_module
from environments.android.adb import Adb
from environments.android.config import DeviceConfig
from environments.android.console import load_snapshot
from environments.android.device import HELD, LOCK, TAKEN
from environments.android.devices import opened_devices
from environments.android.emulator import Emulator, emulator_command
from environments.android.environment import AndroidEnvironment
from environments.android.hierarchy import read_hierarchy, write_hierarchy
from environments.android.task_sets import read_task_set
from environments.android.tree import tree_of
from environments.android.world import World
from environments.browser.chromium.reaper import Reaper
from environments.faults import DeviceError, PageError
from environments.touch.screen import Element
from tests.conftest import ROOT
from tests.environments.adb_clients import color, make_key, phone, server
from tests.environments.recording_screen import SIZE, RecordingScreen

pytest.importorskip("adbutils", reason="elcano[android]")
TASK = Task("clock", "Open the clock", "android://org.elcano.clock")


@pytest.fixture(scope="module")
def adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    make_key(home)
    with server(home) as port:
        yield f"127.0.0.1:{port}"


@contextlib.asynccontextmanager
async def opened(config: DeviceConfig, num_sessions: int = 1) -> AsyncIterator[Callable[[], AndroidEnvironment]]:
    async with opened_devices(config, num_sessions) as devices:

        async def take() -> AndroidEnvironment:
            return AndroidEnvironment(await devices.take(), config.tree)

        yield take


async def begun(take: Callable, task: Task = TASK) -> AndroidEnvironment:
    environment = await take()
    await environment.reset(task)
    return environment


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
                GoTo("example.org"),
                Answer("done"),
            ):
                await environment.act(action)
            for action in (
                HoverAt(Point(1, 1)),
                Press(("Control", "a")),
                Click(9),
                ClickAt(Point(1, 1), "middle"),
                GoTo("app:Maps"),
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
        ("view", "https://example.org"),
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
            return (await super().screenshot())[: None if not self.text else 20]

    screen = Unreadable()

    async def go(address: str) -> None:
        async with opened(DeviceConfig((address,), adb_server)) as take, await begun(take) as environment:
            await environment.observe()
            with pytest.raises(ActionError) as refused:
                await environment.act(Write("new", Point(9, 9), replace=True))
            assert "not typed" in refused.value.reason and screen.text == ""
            await environment.act(Write("new"))
            with pytest.raises(DeviceError, match="no PNG"):
                await environment.observe()

    with phone(screen) as address:
        asyncio.run(go(address))


def test_devices_side_by_side_and_one_run_each(adb_server: str) -> None:
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


def test_a_run_without_any_device_left_says_so(adb_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "RETRY_S", 0.01)

    async def go() -> None:
        async with opened(DeviceConfig((f"127.0.0.1:{free_port()}",), adb_server)) as take:
            for _ in range(2):
                with pytest.raises(DeviceError, match="no device is left"):
                    await take()

    asyncio.run(go())
    with pytest.raises(UserError, match="attach one"):
        asyncio.run(opened_devices(DeviceConfig(adb_server=adb_server), 1).__aenter__())


def test_without_a_server_of_adb_none_is_started() -> None:
    """adbutils by itself leaves one behind."""

    async def go() -> None:
        with pytest.raises(DeviceError):
            await Adb("127.0.0.1", free_port()).devices()

    before = {process.pid for process in psutil.process_iter() if process.name() == "adb"}
    asyncio.run(go())
    assert not {process.pid for process in psutil.process_iter() if process.name() == "adb"} - before


def test_a_lock_says_whether_another_has_it_or_there_is_none(tmp_path: Path) -> None:
    """In a real shell: where another run has the device, and where the device has no `flock`."""
    line = LOCK.replace("/data/local/tmp", str(tmp_path))

    def said(**environment: str) -> list[str]:
        done = subprocess.run(["/bin/sh", "-c", line], input=b"", capture_output=True, env=environment)
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
from environments.android.devices import opened_devices
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


def test_the_command_of_an_emulator() -> None:
    words = emulator_command("emulator", "Pixel", 5556, "clean", "/tmp/mark")
    assert " ".join(words) == (
        "emulator -avd Pixel -port 5556 -read-only -no-window -no-audio -no-boot-anim -no-snapshot-save "
        "-snapshot clean -gpu swiftshader_indirect -prop qemu.elcano=/tmp/mark"
    )
    assert "-no-snapshot-load" in emulator_command("emulator", "Pixel", 5554, "", "/tmp/mark")


@pytest.fixture
def shim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `emulator` in Android's folders; gives the file of how it was started."""
    program = tmp_path / "sdk" / "emulator" / "emulator"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m tests.environments.shim_emulator "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path / "sdk"))
    monkeypatch.setenv("SHIM_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_an_emulator_is_started_reset_replaced_and_ended(
    shim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of ours, in the place of which a shim runs: its process is killed, and the next episode has another."""
    home = tmp_path / "home"
    make_key(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("environments.android.server.PORT", free_port())  # none is there: one of ours
    monkeypatch.setattr("environments.android.console.TOKEN", tmp_path / "token")
    (tmp_path / "token").write_text("secret\n")
    port = free_port()
    monkeypatch.setattr(devices_module, "FIRST_PORT", port)

    async def go() -> None:
        async with opened(DeviceConfig(avd="Pixel", snapshot="clean", num_emulators=1)) as take:
            environment = await begun(take)
            await environment.observe()
            os.killpg(started(shim)[-1]["pid"], signal.SIGKILL)
            with pytest.raises(DeviceError):
                await environment.observe()
            await environment.close()
            again = await begun(take)
            await again.observe()
            await again.close()

    asyncio.run(go())
    first, second = started(shim)
    assert first["words"][:4] == ["-avd", "Pixel", "-port", str(port)] and second["words"][:4] == first["words"][:4]
    said = [line["console"] for line in read(shim) if "console" in line]
    assert said == ["auth secret", "avd snapshot load clean"] * 2
    wait_for_end(*(process[name] for process in (first, second) for name in ("pid", "child")))


def test_an_emulator_of_somebody_else_is_left_alone(
    shim: Path, adb_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its console or its adb has a port; ours begin at the next ones."""
    monkeypatch.setattr("environments.android.server.PORT", int(adb_server.rpartition(":")[2]))
    for taken in (0, 1):
        first = free_port()
        monkeypatch.setattr(devices_module, "FIRST_PORT", first)

        async def serials() -> list[str]:
            async with opened_devices(DeviceConfig(avd="Pixel", num_emulators=1), 1) as devices:
                return [host.serial for host in devices.hosts]

        with socket.create_server(("127.0.0.1", first + taken)):
            assert asyncio.run(serials()) == [f"emulator-{first + 2}"]
    monkeypatch.setattr(devices_module, "MOST_EMULATORS", 0)
    with pytest.raises(UserError, match="room for 0"):
        asyncio.run(serials())


EMULATING = """
import sys, time
from environments.android.emulator import Emulator
from environments.browser.chromium.reaper import Reaper
emulator = Emulator(sys.argv[1], "Pixel", int(sys.argv[2]), "", int(sys.argv[3]), Reaper())
emulator.start()
print("started", flush=True)
time.sleep(600)
"""


def test_an_emulator_does_not_outlive_a_run_that_is_killed(shim: Path, adb_server: str) -> None:
    program = Path(os.environ["ANDROID_HOME"]) / "emulator" / "emulator"
    words = [str(program), str(free_port()), adb_server.rpartition(":")[2]]
    run = subprocess.Popen([sys.executable, "-c", EMULATING, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout.readline() == "started\n"
        wait(lambda: shim.exists() and started(shim))
    finally:
        run.kill()
        run.wait()
    wait_for_end(started(shim)[0]["pid"], started(shim)[0]["child"])


def test_a_console_that_refuses_is_a_fault(shim: Path, tmp_path: Path, adb_server: str) -> None:
    reaper = Reaper()
    program = Path(os.environ["ANDROID_HOME"]) / "emulator" / "emulator"
    emulator = Emulator(str(program), "Pixel", free_port(), "", int(adb_server.rpartition(":")[2]), reaper)
    (tmp_path / "token").write_text("secret")
    try:
        emulator.start()
        wait(lambda: shim.exists() and started(shim))
        time.sleep(1)
        with pytest.raises(DeviceError, match="KO"):
            asyncio.run(load_snapshot(emulator.port, "missing", tmp_path / "token"))
        with pytest.raises(DeviceError, match="console"):
            asyncio.run(load_snapshot(free_port(), "clean", tmp_path / "token"))
    finally:
        emulator.stop()
        reaper.close()


def test_a_hierarchy_is_written_and_read() -> None:
    elements = asyncio.run(RecordingScreen().tree())
    assert read_hierarchy(write_hierarchy(elements, SIZE, "org.elcano.home")) == elements
    for text in ("", "no XML", "<hierarchy><node"):
        with pytest.raises(DeviceError):
            read_hierarchy(text)


def test_what_stands_in_a_field_is_listed_below_it() -> None:
    field = Element("textbox", "it's", (0, 0, 9, 9), "Name", is_editable=True, is_focused=True)
    title = Element("RootWebArea", "Notes - Phone", (0, 0, *SIZE))
    [page, read] = read_hierarchy(write_hierarchy([title, field], SIZE, "x"))
    tree, nodes = tree_of([page, read])
    assert tree == """[1] RootWebArea 'Notes - Phone'\n[2] textbox 'Name' focused: True\n\t[3] StaticText "it's\""""
    assert nodes[3]["union_bound"] == [0, 0, 9, 9]


def test_what_only_holds_others_is_not_listed() -> None:
    outer = '<node class="android.widget.FrameLayout" text="" bounds="[0,0][100,100]">'
    inner = (
        '<node class="android.widget.TextView" text="&#10;two" content-desc="" bounds="[0,0][9,9]" clickable="false"/>'
    )
    outside = '<node class="android.widget.TextView" text="gone" bounds="[0,0][0,0]"/>'
    [element] = read_hierarchy(f"<hierarchy>{outer}{inner}{outside}</node></hierarchy>UI hierchary dumped to: /dev/tty")
    assert (element.kind, element.text) == ("text", "\ntwo")


def test_task_sets_of_digirl(tmp_path: Path) -> None:
    path = tmp_path / "webshop_test.txt"
    path.write_text('Go to ebay.com, search for "acer"\n\nGo to costco.com\nGo to costco.com\n')
    first, second, third = read_task_set(path)
    assert (first.id, first.ques, first.max_steps) == ("Webshop-test--000", 'Go to ebay.com, search for "acer"', 20)
    assert second.ques == third.ques and second.id != third.id and first.web == "android://home"
    (tmp_path / "mine.txt").write_text("Open the clock\n")
    [own] = read_task_set(tmp_path / "mine.txt")
    assert (own.id, own.max_steps, own.steps_within(7)) == ("mine--000", None, 7)
    (tmp_path / "empty.txt").write_text("\n")
    for name in ("empty.txt", "missing.txt"):
        with pytest.raises(UserError, match=name):
            read_task_set(tmp_path / name)
    with pytest.raises(UserError, match="--test_file"):
        asyncio.run(World().tasks())


@pytest.mark.parametrize(
    "settings", [{"devices": ("a",), "avd": "b"}, {"snapshot": "a"}, {"avd": "a", "num_emulators": 65}]
)
def test_settings_that_do_not_go_together(settings: dict) -> None:
    with pytest.raises(UserError, match="--"):
        DeviceConfig(**settings)


def start_phone(done: Path, port: str = "0") -> tuple[subprocess.Popen, str]:
    command = [sys.executable, "-m", "tests.environments.phone_process", str(done), port]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return process, f"127.0.0.1:{int(process.stdout.readline())}"


def read(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def started(log: Path) -> list[dict]:
    return [line for line in read(log) if "words" in line]


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_end(*pids: int) -> None:
    wait(lambda: not any(Path(f"/proc/{pid}").exists() and is_alive(pid) for pid in pids))


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
