"""What the wall of live sessions costs the collector: part of `benchmarks/viewer.py`.

The collector is the one people use, with sixteen sessions and a stub model that takes no time, so that it takes all the
CPU there is. The viewer runs beside it all the time. In turns of some seconds a Chromium on the same cores shows the
wall, or an empty page; the order changes from repeat to repeat.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks import usage
from benchmarks.collection_site import Site
from benchmarks.figures import Figure
from benchmarks.stub_policy import StubPolicy
from common.defaults import ROOT
from common.processes import die_with_parent
from data.task import Task, write_tasks
from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport

_SESSIONS, _STEPS = 16, 10
_SETTLE_S = 5.0


def cost_of_the_wall(seconds: float, repeats: int) -> list[dict[str, Figure | str]]:
    """Rows: the collector's steps/s without and with the wall, their ratio, and the CPU of viewer and Chromium as a
    share of all cores."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Site() as site,
        StubPolicy(_STEPS, 0.0) as policy,
        _collector(Path(folder), site, policy) as collector,
        _viewer(Path(folder)) as url,
    ):
        while sum(policy.replies().values()) < 2 * _SESSIONS:
            time.sleep(1)
        turns = asyncio.run(_turns(url, policy, collector, seconds, repeats))
    without, shown = turns["about:blank"], turns[f"{url}#/live"]
    return [
        {"wall": "no", "steps_per_s": Figure.of([speed for speed, _ in without])},
        {
            "wall": "yes",
            "steps_per_s": Figure.of([speed for speed, _ in shown]),
            "times_without": Figure.times([speed for speed, _ in shown], [speed for speed, _ in without]),
            "cpu_share": Figure.of([share for _, share in shown]),
        },
    ]


async def _turns(
    url: str, policy: StubPolicy, collector: subprocess.Popen, seconds: float, repeats: int
) -> dict[str, list[tuple[float, float]]]:
    """(steps/s, share of CPU) by what is shown."""
    found: dict[str, list[tuple[float, float]]] = {"about:blank": [], f"{url}#/live": []}
    async with Fleet(num_sessions=1, headless=True, viewport=Viewport()) as fleet:
        with tempfile.TemporaryDirectory() as downloads:
            async with fleet.page(0, Path(downloads)) as page:
                for repeat in range(repeats):
                    for shown in list(found)[:: -1 if repeat % 2 else 1]:
                        found[shown].append(await _turn(page, shown, policy, collector, seconds))
    return found


async def _turn(
    page: Page, shown: str, policy: StubPolicy, collector: subprocess.Popen, seconds: float
) -> tuple[float, float]:
    await page.send("Page.navigate", {"url": shown})
    await asyncio.sleep(_SETTLE_S)
    began, cpu, steps = time.monotonic(), _cpu_s(collector), sum(policy.replies().values())
    await asyncio.sleep(seconds)
    wall, cpu, steps = time.monotonic() - began, _cpu_s(collector) - cpu, sum(policy.replies().values()) - steps
    if shown != "about:blank":
        asked = {"expression": "document.querySelectorAll('.wall img').length", "returnByValue": True}
        number = (await page.send("Runtime.evaluate", asked))["result"]["value"]
        print(f"{number} pictures of sessions are on the wall", flush=True)
    return steps / wall, cpu / wall / len(os.sched_getaffinity(0))


def _cpu_s(collector: subprocess.Popen) -> float:
    """Seconds of the viewer and the Chromium that shows it."""
    others, total = {os.getpid(), *(process.pid for process in usage.processes(collector.pid))}, 0.0
    for process in usage.processes():
        with contextlib.suppress(psutil.Error):
            if process.pid not in others:
                times = process.cpu_times()
                total += times.user + times.system
    return total


@contextlib.contextmanager
def _collector(folder: Path, site: Site, policy: StubPolicy) -> Iterator[subprocess.Popen]:
    write_tasks(folder / "tasks.jsonl", [Task(f"{number}", "Go on.", site.url("shop")) for number in range(20_000)])
    command = [sys.executable, "collection/run.py", "--test_file", folder / "tasks.jsonl", "--headless"]
    command += ["--output_dir", folder / "live" / "trajectories", "--download_dir", folder / "downloads"]
    command += ["--api_localhost", policy.url, "--num_sessions", _SESSIONS, "--max_iter", _STEPS]
    command += ["--private_hosts", site.host]
    with open(folder / "collector.log", "w") as log:
        words = [str(word) for word in command]
        process = subprocess.Popen(words, cwd=ROOT, stdout=log, stderr=log, preexec_fn=die_with_parent)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


@contextlib.contextmanager
def _viewer(folder: Path) -> Iterator[str]:
    (folder / "live").mkdir(exist_ok=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "viewer", str(folder / "live"), "--port", "0"]
    while not any((folder / "live").glob("trajectories/task*")):
        time.sleep(0.5)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().split()[2]
        finally:
            process.terminate()
