"""Many sessions, or for long: is every step accounted for, is memory flat, and does any process stay behind?

    python benchmarks/endurance.py --num_sessions 512 --num_tasks 512            # 512 at once, 5,120 steps
    python benchmarks/endurance.py --num_sessions 64 --minutes 30 --freeze_pages # a soak

The collector is the one people use, as a command; website and model server are stubs in processes of their own. When
the time is up it is interrupted as by Ctrl-C. Every reply of the stub must lie in exactly one trajectory folder.
"""

import dataclasses
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # collection.py lies in this folder and would hide the room

import psutil
from rich.console import Console

from benchmarks import usage
from benchmarks.collection_site import Site
from benchmarks.figures import watched
from benchmarks.stub_policy import StubPolicy
from common import cli
from common.files import read_json, write_json
from common.processes import die_with_parent
from common.shown.drawing import drawing
from data.task import Task, write_tasks

SAMPLE_S = 10.0


@dataclasses.dataclass(frozen=True)
class Config:
    """Run the collector with a stub model and watch it."""

    num_sessions: int = 64
    """Sessions at the same time."""
    num_tasks: int = 0
    """Tasks; 0 for as many as fit into `minutes`."""
    minutes: float = 30.0
    """Stop after this time, when tasks are left."""
    steps_per_task: int = 10
    """Steps of each trajectory, the answer included."""
    think_s: float = 3.0
    """Seconds the stub model thinks."""
    max_attached_imgs: int = 1
    """Screenshots sent with each step."""
    freeze_pages: bool = True
    """Freeze pages while the model thinks."""
    num_browsers: int | None = None
    """Browsers; default as the collector's."""
    output: Path = Path("endurance.json")
    """A JSON file for the numbers."""
    plot: Path | None = None
    """A PNG with memory and steps by time."""


@dataclasses.dataclass
class Sample:
    """MB of PSS: of the browsers with their drivers, and of the collector itself with its watchdog."""

    second: float
    browsers_mb: float
    collector_mb: float
    num_processes: int
    replies: int


def main(config: Config) -> None:
    """Run, watch, count, print, write."""
    folder = Path(tempfile.mkdtemp(prefix="elcano-endurance-"))
    try:
        with watched(1) as load, Site() as site, StubPolicy(config.steps_per_task, config.think_s) as policy:
            tasks = [Task(f"{n}", "Go on.", site.url("shop")) for n in range(config.num_tasks or 100_000)]
            write_tasks(folder / "tasks.jsonl", tasks)
            begin = time.monotonic()
            samples, cpu_s, exit_code = _run(config, folder, policy, site)
            wall_s = time.monotonic() - begin
            replies = policy.replies()
        report = {
            **_account(folder / "results", replies),
            "exit_code": exit_code,
            "wall_s": round(wall_s),
            "steps_per_s": round(sum(replies.values()) / wall_s, 2),
            "cpu_ms_per_step": round(1000 * cpu_s / max(1, sum(replies.values()))),
            **_memory(samples, config.num_sessions),
            "processes_left": len(_naming(folder)),
        }
        config_json = {name: str(value) if isinstance(value, Path) else value for name, value in vars(config).items()}
        report["load"] = dataclasses.asdict(load)
        write_json(config.output, {"config": config_json, **report, "samples": [vars(s) for s in samples]})
        Console().print(report)
        if config.plot and samples:
            _plot(samples, config)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(config: Config, folder: Path, policy: StubPolicy, site: Site) -> tuple[list[Sample], float, int]:
    command = [sys.executable, "collection/run.py", "--test_file", folder / "tasks.jsonl", "--headless"]
    command += ["--output_dir", folder / "results", "--download_dir", folder / "downloads"]
    command += ["--api_localhost", policy.url, "--num_sessions", config.num_sessions]
    command += ["--max_iter", config.steps_per_task, "--max_attached_imgs", config.max_attached_imgs]
    command += ["--private_hosts", site.host]
    command += ["--max_fault_retries", 0]  # a second try would replace the steps of the first
    command += ["--freeze_pages"] if config.freeze_pages else []
    command += ["--num_browsers", config.num_browsers] if config.num_browsers else []
    environment = {**os.environ, "TMPDIR": str(folder)}
    with open(folder / "collector.log", "w") as log:
        root = Path(__file__).resolve().parent.parent
        words = [str(word) for word in command]
        child = subprocess.Popen(words, cwd=root, env=environment, stdout=log, stderr=log, preexec_fn=_interruptible)
        samples: list[Sample] = []
        cpu = CpuMeter(child.pid)
        begin = looked = time.monotonic()
        pause_s = SAMPLE_S
        while child.poll() is None and looked - begin < 60 * config.minutes:
            time.sleep(pause_s)
            looked = time.monotonic()
            cpu.look()
            if child.poll() is None:
                samples.append(_sample(child.pid, looked - begin, sum(policy.replies().values())))
                print(json.dumps(vars(samples[-1])), flush=True)
            pause_s = max(SAMPLE_S, 20 * (time.monotonic() - looked))  # the kernel adds up hundreds of processes
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        return samples, cpu.total_s(), child.wait(600)


def _interruptible() -> None:
    """A shell has what it starts in the background ignore Ctrl-C; our collector must not inherit that."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class CpuMeter:
    """CPU of a process and its descendants; those that end keep what was last seen of them."""

    def __init__(self, pid: int):
        self._pid = pid
        self._seen: dict[int, float] = {}

    def look(self) -> None:
        """Read all of them."""
        for process in usage.processes(self._pid):
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            self._seen[process.pid] = times.user + times.system

    def total_s(self) -> float:
        """Seconds so far."""
        return sum(self._seen.values())


def _sample(pid: int, second: float, replies: int) -> Sample:
    found = usage.pss_mb(pid)
    browsers, collector = found.total() - found["client"], found["client"]
    return Sample(round(second, 1), round(browsers), round(collector), len(usage.processes(pid)), replies)


def _memory(samples: list[Sample], sessions: int) -> dict[str, Any]:
    """Peak, and the middle of the second and of the last quarter: alike when memory is flat."""
    if not samples:
        return {}
    total = [sample.browsers_mb + sample.collector_mb for sample in samples]
    quarter = max(1, len(total) // 4)
    return {
        "peak_browsers_mb_per_session": round(max(sample.browsers_mb for sample in samples) / sessions, 1),
        "peak_mb_per_session": round(max(total) / sessions, 1),
        "second_quarter_mb": round(statistics.median(total[quarter : 2 * quarter] or total)),
        "last_quarter_mb": round(statistics.median(total[-quarter:])),
    }


def _plot(samples: list[Sample], config: Config) -> None:
    """Memory of all processes, and the steps taken, by minute."""
    with drawing(config.plot, (7, 4)) as [memory]:
        minutes = [sample.second / 60 for sample in samples]
        memory.plot(minutes, [(sample.browsers_mb + sample.collector_mb) / 1024 for sample in samples], label="memory")
        memory.set(xlabel="minutes", ylabel="GB (PSS)", title=f"{config.num_sessions} sessions", ylim=(0, None))
        steps = memory.twinx()
        steps.plot(minutes, [sample.replies for sample in samples], "C1", label="steps")
        steps.set(ylabel="steps", ylim=(0, None))
        memory.figure.legend(loc="lower right", bbox_to_anchor=(0.88, 0.15))


def _account(results: Path, replies: dict[str, int]) -> dict[str, Any]:
    """Compare the stub's replies with the steps on disk. One may be under way when the collector or a page stops."""
    counts = {"complete": 0, "invalid": 0, "unfinished": 0, "steps_on_disk": 0, "steps_unaccounted": 0}
    for folder in results.glob("task*"):
        lines = (folder / "steps.jsonl").read_text().splitlines() if (folder / "steps.jsonl").exists() else []
        path = folder / "trajectory.json"
        state = ("invalid" if read_json(path)["status"] == "invalid" else "complete") if path.exists() else "unfinished"
        counts[state] += 1
        counts["steps_on_disk"] += len(lines)
        given = replies.get(folder.name, 0)
        under_way = 0 if state == "complete" else 1
        if not len(lines) <= given <= len(lines) + under_way:
            counts["steps_unaccounted"] += abs(given - len(lines))
    return {"replies": sum(replies.values()), **counts}


def _naming(folder: Path) -> list[int]:
    """Living processes whose command line names the folder."""
    time.sleep(2)
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            found.append(process.pid)
    return found


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
