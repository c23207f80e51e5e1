"""Emulators that a run starts, resets, replaces and ends."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from common.processes import free_port
from common.reaper import Reaper
from environments.android import console_ports as console_ports_module
from environments.android.config import DeviceConfig
from environments.android.console import load_snapshot
from environments.android.console_ports import console_ports
from environments.android.devices import opened_devices
from environments.android.emulator import Emulator, emulator_command
from environments.faults import DeviceError
from tests.conftest import ROOT
from tests.environments.adb_clients import make_key
from tests.environments.android_devices import (
    begun,
    opened,
    read,
    started,
    wait,
    wait_for_end,
)

pytest.importorskip("adbutils", reason="elcano[android]")


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
    monkeypatch.setattr(console_ports_module, "FIRST_PORT", port)

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


def _free_run() -> int:
    """The first of four free ports in a row, below those that Linux gives to outgoing connections."""
    while True:
        first = random.randrange(20000, 32000, 2)
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + 4):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def test_an_emulator_of_somebody_else_is_left_alone(
    shim: Path, adb_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its console or its adb has a port; ours begin at the next ones."""
    monkeypatch.setattr("environments.android.server.PORT", int(adb_server.rpartition(":")[2]))
    for taken in (0, 1):
        first = _free_run()
        monkeypatch.setattr(console_ports_module, "FIRST_PORT", first)

        async def serials() -> list[str]:
            async with opened_devices(DeviceConfig(avd="Pixel", num_emulators=1), 1) as devices:
                return [host.serial for host in devices.hosts]

        with socket.create_server(("127.0.0.1", first + taken)):
            assert asyncio.run(serials()) == [f"emulator-{first + 2}"]
    monkeypatch.setattr(console_ports_module, "MOST_EMULATORS", 0)
    with pytest.raises(UserError, match="room for 0"):
        asyncio.run(serials())


HOLDING = """
import time
from environments.android import console_ports
console_ports.FIRST_PORT = {first}
with console_ports.console_ports(2) as ports:
    print(*ports, flush=True)
    time.sleep(600)
"""


def test_two_runs_never_choose_the_same_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even before anything listens there; those of a run that was killed are free again."""
    first = free_port()
    monkeypatch.setattr(console_ports_module, "FIRST_PORT", first)
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDING.format(first=first)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == f"{first} {first + 2}\n"
        with console_ports(1) as ports:
            assert ports == [first + 4]
    finally:
        other.kill()
        other.wait()
    with console_ports(1) as ports:
        assert ports == [first]


EMULATING = """
import sys, time
from environments.android.emulator import Emulator
from common.reaper import Reaper
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
        with pytest.raises(DeviceError, match="KO"):
            asyncio.run(load_snapshot(emulator.port, "missing", tmp_path / "token"))
        with pytest.raises(DeviceError, match="console"):
            asyncio.run(load_snapshot(free_port(), "clean", tmp_path / "token"))
    finally:
        emulator.stop()
        reaper.close()
