"""Kill browsers, renderers and the collector itself at random, and ask that no task be lost, doubled or wrong.

    python -m tests.collection.faults.chaos --num_tasks 300 --num_kills 100

Tasks wander over pages of a local site and answer; what each answer must be judged as is known beforehand. The
collector is the command people use; a killed one (kill -9) is started again with another number of sessions. When all
kills are done the last one finishes in peace. Then each task must have exactly one complete trajectory with the right
verdict, and no process or profile folder may be left.
"""

import collections
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from benchmarks.collection_site import Site
from benchmarks.stub_policy import StubPolicy
from common import cli
from common.files import read_json, write_json
from data.task import Task, write_tasks
from data.trajectory import read_trajectory
from tests.conftest import ROOT

KINDS = {  # what is killed, and how often in comparison
    "renderer": 5,
    "browser": 3,
    "gate": 1,
    "watchdog": 1,
    "collector": 2,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Collect while everything is being killed."""

    num_tasks: int = 300
    """Tasks; half of them can be solved."""
    num_kills: int = 100
    """Kills before peace."""
    most_sessions: int = 12
    """Sessions of a collector: some number up to this."""
    pause_s: float = 1.5
    """Mean seconds between two kills."""
    seed: int = 0
    """Seed of the choice of victims and moments."""
    most_minutes: float = 30.0
    """Give up after this time."""
    output: Path = Path("chaos.json")
    """A JSON file for the numbers."""


def chaos(config: Config) -> dict[str, Any]:
    """Run, kill, count."""
    folder = Path(tempfile.mkdtemp(prefix="elcano-chaos-"))
    try:
        with Site() as site, StubPolicy(steps=4, think_s=0.3) as policy:
            tasks = [_task(number, site.url("shop")) for number in range(config.num_tasks)]
            write_tasks(folder / "tasks.jsonl", tasks)
            kills, wall_s = Chaos(config, folder, policy.url, site.host).run()
        return {"kills": sum(kills.values()), **kills, "wall_s": round(wall_s), **_check(folder, tasks)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(config: Config) -> int:
    """Report; exit code 1 when anything is wrong."""
    report = chaos(config)
    write_json(config.output, report)
    Console().print(report)
    return 1 if report["wrong"] or report["processes_left"] or report["profiles_left"] else 0


def _task(number: int, web: str) -> Task:
    """The stub answers `done`; every other task wants something else."""
    wanted = "done" if number % 2 == 0 else "something else"
    answer = {"eval_types": ["string_match"], "reference_answers": {"exact_match": wanted}}
    return Task(f"chaos--{number:03d}", "Go on.", web, eval=answer)


class Chaos:
    """One collector at a time, and its misfortunes."""

    def __init__(self, config: Config, folder: Path, policy_url: str, site: str):
        self._config, self._folder, self._policy_url, self._site = config, folder, policy_url, site
        self._generator = random.Random(config.seed)

    def run(self) -> tuple[collections.Counter[str], float]:
        """(kills by kind, seconds it took)."""
        kills: collections.Counter[str] = collections.Counter()
        begin = time.monotonic()
        collector = self._start()
        while time.monotonic() - begin < 60 * self._config.most_minutes:
            time.sleep(self._generator.expovariate(1 / self._config.pause_s))
            code = collector.poll()
            if code is not None:
                if code == 0 and not self._unfinished():
                    break
                collector = self._start()
            elif sum(kills.values()) < self._config.num_kills:
                kind = self._generator.choices(list(KINDS), KINDS.values())[0]
                kills[kind] += self._kill(kind, collector)
        if collector.poll() is None:
            collector.kill()
            collector.wait()
        return kills, time.monotonic() - begin

    def _start(self) -> subprocess.Popen:
        command = [sys.executable, "collection/run.py", "--test_file", self._folder / "tasks.jsonl", "--headless"]
        command += ["--output_dir", self._folder / "results", "--download_dir", self._folder / "downloads"]
        command += ["--api_localhost", self._policy_url, "--judge", "oracle", "--max_iter", 6]
        command += ["--private_hosts", self._site]
        command += ["--num_sessions", self._generator.randint(2, self._config.most_sessions)]
        environment = {**os.environ, "TMPDIR": str(self._folder)}
        with open(self._folder / "collector.log", "a") as log:
            return subprocess.Popen([str(w) for w in command], cwd=ROOT, env=environment, stdout=log, stderr=log)

    def _kill(self, kind: str, collector: subprocess.Popen) -> int:
        """Kill one of that kind; how many that were."""
        victims = _victims(kind, collector)
        if not victims:
            return 0
        try:
            self._generator.choice(victims).send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            return 0
        if kind == "collector":
            collector.wait()
        return 1

    def _unfinished(self) -> int:
        """Tasks that are not told apart yet: not begun, or ended by a fault."""
        folders = list((self._folder / "results").glob("task*"))
        told = sum(_status(folder) not in ("", "invalid") for folder in folders)
        return self._config.num_tasks - told


def _victims(kind: str, collector: subprocess.Popen) -> list[psutil.Process]:
    try:
        parent = psutil.Process(collector.pid)
        if kind == "collector":
            return [parent]
        return [child for child in parent.children(recursive=True) if _kind_of(child) == kind]
    except psutil.Error:
        return []


def _kind_of(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
    except psutil.Error:
        return ""
    line = " ".join(words)
    if "--type=renderer" in line:
        return "renderer"
    if "chromium" in line.split(" ")[0] and "--type=" not in line:
        return "browser"
    return "gate" if "environments.browser.gate.gate" in line else "watchdog" if "reaper.py" in line else ""


def _status(folder: Path) -> str:
    path = folder / "trajectory.json"
    return read_json(path)["status"] if path.exists() else ""


def _check(folder: Path, tasks: list[Task]) -> dict[str, Any]:
    """Compare what lies on disk with what must."""
    verdicts: collections.Counter[str] = collections.Counter()
    wrong = []
    names = {path.name for path in (folder / "results").glob("task*")}
    for number, task in enumerate(tasks):
        path = folder / "results" / f"task{task.id}"
        names.discard(path.name)
        try:
            trajectory = read_trajectory(path)
            verdict = str(trajectory.outcome.verdict) if trajectory.outcome else "unjudged"
        except (ValueError, OSError) as error:
            verdict = f"broken: {error}"
        verdicts[verdict.split(":")[0]] += 1
        if verdict != ("success" if number % 2 == 0 else "failure") or len(trajectory.steps) != 4:
            wrong.append(f"{task.id}: {verdict}")
    wrong += [f"{name}: no such task" for name in names]
    deadline = time.monotonic() + 60
    while (left := _left(folder)) != (0, 0) and time.monotonic() < deadline:
        time.sleep(0.5)
    return {"tasks": len(tasks), **verdicts, "wrong": wrong, "processes_left": left[0], "profiles_left": left[1]}


def _left(folder: Path) -> tuple[int, int]:
    """(living processes of ours, browser profiles)."""
    processes = 0
    for process in psutil.process_iter(["cmdline", "status"]):
        is_ours = str(folder) in " ".join(process.info["cmdline"] or []) and process.pid != os.getpid()
        processes += is_ours and process.info["status"] != psutil.STATUS_ZOMBIE
    return processes, len(list(folder.glob("elcano-browser-*")))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
