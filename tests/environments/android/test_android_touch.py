"""The touch world's tasks over adb: the same phone, the same ground truth, solved by the scripted policy through the
ordinary collector. And what is left when the daemon is killed."""

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from data.task import Task, move_sites, write_tasks
from data.trajectory import read_trajectory
from environments.android.config import DeviceConfig
from environments.faults import DeviceError, PageError
from environments.touch.families import FAMILIES
from tests.conftest import ROOT
from tests.environments.adb_clients import make_key, server
from tests.environments.android_devices import begun, opened, wait

pytest.importorskip("adbutils", reason="elcano[android]")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SEED = 200_000


@contextlib.contextmanager
def printing(*command: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """A process that serves, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also where the tests run in the background
    )
    try:
        yield process, process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()


def test_tasks_of_each_app_are_solved_over_adb(tmp_path: Path) -> None:
    make_key(tmp_path / "home")
    first_of_each_app = {family.app: family for family in reversed(FAMILIES.values())}.values()
    with (
        printing("-m", "environments.android.daemon", "--port", "0") as (_, phone),
        printing("environments/touch/expert/server.py", "--port", "0") as (_, expert),
        server(tmp_path / "home") as adb_port,
    ):
        address, web_port = re.search(r"(127\.0\.0\.1:\d+)", phone)[1], int(re.search(r":(\d+)/", phone)[1])
        expert_port = re.findall(r":(\d+)", expert)[-1]
        tasks = move_sites([family.task(SEED) for family in first_of_each_app], web_port)
        write_tasks(tmp_path / "tasks.jsonl", tasks)
        words = {
            "env": "android",
            "test_file": str(tmp_path / "tasks.jsonl"),
            "output_dir": str(tmp_path / "results"),
            "devices": address,
            "adb_server": f"127.0.0.1:{adb_port}",
            "action_space": "appagent",
            "max_iter": "30",
            "api_base": f"http://127.0.0.1:{expert_port}/v1",
            "judge": "oracle",
        }
        flags = [word for name, value in words.items() for word in (f"--{name}", value)]
        done = subprocess.run(
            [sys.executable, "collection/run.py", *flags, "--device_tree"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1000,
        )
    assert done.returncode == 0, done.stderr
    outcomes = {task.id: read_trajectory(tmp_path / "results" / f"task{task.id}").outcome for task in tasks}
    assert all(outcome.success for outcome in outcomes.values()), outcomes


def test_a_screen_that_is_killed_is_a_fault_and_the_next_episode_has_a_new_one(tmp_path: Path) -> None:
    """kill -9 of the phone's Chromium: the episode is no failure of the agent, and nothing of the dead one is left."""
    make_key(tmp_path / "home")

    async def go(address: str, adb_port: int, task: Task, chromium: psutil.Process) -> None:
        async with opened(DeviceConfig((address,), f"127.0.0.1:{adb_port}", tree=True)) as take:
            environment = await begun(take, task)
            await environment.observe()
            killed = [chromium, *chromium.children(recursive=True)]
            chromium.kill()
            with pytest.raises((DeviceError, PageError)):
                for _ in range(10):
                    await environment.observe()
            await environment.close()
            again = await begun(take, task)
            seen = await again.observe()
            assert "Clock" in seen.tree and seen.url.endswith("home")
            await again.close()
        assert not any(process.is_running() and process.status() != "zombie" for process in killed)

    with printing("-m", "environments.android.daemon", "--port", "0") as (process, phone):
        address, web_port = re.search(r"(127\.0\.0\.1:\d+)", phone)[1], int(re.search(r":(\d+)/", phone)[1])
        with server(tmp_path / "home") as adb_port:
            [task] = move_sites([FAMILIES["clock-add"].task(SEED)], web_port)
            children = psutil.Process(process.pid).children(recursive=True)
            [chromium] = [one for one in children if "--remote-debugging-pipe" in one.cmdline() and _is_first(one)]
            asyncio.run(go(address, adb_port, task, chromium))


def _is_first(process: psutil.Process) -> bool:
    """Whether it is the browser, and no process that this began."""
    return not any(word.startswith("--type=") for word in process.cmdline())


def test_nothing_outlives_a_daemon_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with printing("-m", "environments.android.daemon", "--port", "0") as (daemon, said):
        assert "a phone on" in said
        left = psutil.Process(daemon.pid).children(recursive=True)
        assert any("chrom" in process.name() for process in left)
        assert {path.name.rpartition("-")[0] for path in tmp_path.glob("elcano-*")} >= {"elcano-phones"}
        daemon.kill()
        wait(lambda: not any(process.is_running() and process.status() != "zombie" for process in left))
        wait(lambda: not list(tmp_path.glob("elcano-*")))
