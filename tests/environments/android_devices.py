"""Devices over a server of adb, and phones that are processes of their own."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from data.task import Task
from environments.android.config import DeviceConfig
from environments.android.devices import opened_devices
from environments.android.environment import AndroidEnvironment
from tests.conftest import ROOT

TASK = Task("clock", "Open the clock", "android://org.elcano.clock")


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
