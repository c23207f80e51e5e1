"""Three machines on one, as network namespaces, and what happens to them while they collect: each embedded test task
must be there once, as one machine takes it.

    python -m tests.collection.nodes.node_chaos      as root; Ray installed; 6 minutes

Each node has an address, a loopback, embedded websites and one core of its own. The trajectories come over the network
between them. While they do, a collector is killed; then a node with all that runs there, which joins again; then the
link of another is cut, which joins again, too.
"""

import collections
import contextlib
import dataclasses
import itertools
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from common import cli
from common.files import write_json
from common.processes import die_with_parent, num_cores
from data.task import SITES_PORT, read_tasks, write_tasks
from data.trajectory import is_complete, list_trajectories, read_trajectory
from tests.collection.repeats import compare
from tests.conftest import ROOT
from tests.namespaces import Host, hosts

NODES = (1, 2, 3)
_RAY_PORT, _TEACHER_PORT = 6379, 7090
_TRIES = 3
_NOWHERE = "10.77.0.254"
SHORT_CHECKS = {  # of a node's health: a cut link is known after some 5 s, and a starved node is taken for dead
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Collect over three namespaces while parts of them die."""

    num_tasks: int = 300
    """Embedded test tasks."""
    num_sessions: int = 16
    """Sessions of each node."""
    output: Path = Path("node_chaos.json")
    """A JSON file for the numbers."""


def main(config: Config) -> int:
    """Report; exit code 1 when anything is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="ns-"))  # Ray's sockets have long names
    try:
        with hosts(len(NODES)) as made:
            report = _collect_twice(config, Machines(folder, made, SHORT_CHECKS), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write_json(config.output, report)
    Console().print(report)
    return bool(report["wrong"] or report["left_over"])


class Machines:
    """Nodes 1 to 3, each with one core; `checks` are Ray's variables of how it looks after them."""

    def __init__(self, folder: Path, made: list[Host], checks: Mapping[str, str] = {}) -> None:
        self._folder, self._hosts = folder, dict(zip(NODES, made, strict=True))
        self._numbers = itertools.count()
        (folder / "token").write_text(secrets.token_hex(32))
        (folder / "token").chmod(0o600)
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
        self._variables = {
            **os.environ,
            **token,
            **checks,
            "RAY_raylet_start_wait_time_s": "120",
            "RAY_worker_niceness": "0",
        }
        for host in made:  # a route that leads nowhere tells Ray which address is the node's own
            route = ["ip", "-n", host.name, "route", "add", "default", "via", _NOWHERE]
            subprocess.run(route, check=True)

    def begin(self, node: int, *words: object, output: str) -> subprocess.Popen:
        """A command of a node, on its core."""
        inside = [*self._hosts[node].prefix, "taskset", "-c", str(node % num_cores())]
        self.scratch(node).mkdir(exist_ok=True)
        with open(self._folder / output, "a") as log:
            return subprocess.Popen(
                [*inside, *map(str, words)],
                cwd=ROOT,
                env={**self._variables, "TMPDIR": str(self.scratch(node))},
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def start(self, node: int) -> None:
        """Websites and Ray."""
        self.begin(node, sys.executable, "-m", "environments.sites", "--port", SITES_PORT, output=f"sites{node}")
        where = ["--head", f"--port={_RAY_PORT}", "--include-dashboard=false"]
        where = where if node == NODES[0] else [f"--address={self.address(1)}:{_RAY_PORT}"]
        flags = ["--block", "--disable-usage-stats", "--num-cpus=1", "--object-store-memory=100000000"]
        own = [f"--node-ip-address={self.address(node)}", f"--temp-dir={self._folder / str(node)}"]
        for _ in range(_TRIES):  # on a busy machine one part of Ray may be too late for another
            log = self._folder / f"ray-{next(self._numbers)}"
            ray = Path(sys.executable).with_name("ray")
            process = self.begin(node, ray, "start", *where, *flags, *own, output=log.name)
            while process.poll() is None:
                if "Ray runtime started" in log.read_text():
                    return
                time.sleep(0.5)
        raise RuntimeError(log.read_text()[-2000:])

    def processes(self, node: int) -> list[psutil.Process]:
        """All that runs there."""
        found = subprocess.run(["ip", "netns", "pids", self._hosts[node].name], capture_output=True, text=True).stdout
        processes = []
        for pid in found.split():
            with contextlib.suppress(psutil.NoSuchProcess):
                processes.append(psutil.Process(int(pid)))
        return processes

    def kill(self, node: int) -> None:
        """A power cut."""
        while self.processes(node):  # also what began meanwhile
            self._hosts[node].kill()
            time.sleep(0.1)

    def link(self, node: int, state: str) -> None:
        """Pull the cable (`down`), or put it back (`up`)."""
        self._hosts[node].link(state)

    def scratch(self, node: int) -> Path:
        """Its folder for temporary files."""
        return self._folder / f"tmp{node}"

    def address(self, node: int) -> str:
        return self._hosts[node].address


class Run:
    """A collection under way on the first node."""

    def __init__(self, machines: Machines, folder: Path, name: str, *flags: object) -> None:
        self.results, self._said, self._machines = folder / name, folder / f"{name}.said", machines
        words = [sys.executable, "collection/run.py", "--test_file", folder / "tasks.jsonl", "--headless", "--seed", 0]
        teacher = f"http://{machines.address(1)}:{_TEACHER_PORT}/v1"
        words += ["--api_base", teacher, "--max_iter", 15, "--judge", "oracle"]
        words += ["--sites_port", SITES_PORT, "--output_dir", self.results]
        self.began = time.monotonic()
        self.process = machines.begin(1, *words, *flags, output=self._said.name)
        self.most_mb = 0.0
        self.joins: dict[tuple[int, int], float] = {}

    def said(self, words: str) -> int:
        """How often."""
        return self._said.read_text().count(words)

    def taken_twice(self) -> list[str]:
        """Trajectories whose outcome was said more than once."""
        said = collections.Counter(re.findall(r"^(\S+): ", self._said.read_text(), re.MULTILINE))
        names = {folder.name for folder in list_trajectories(self.results)}
        return [name for name, times in said.items() if times > 1 and name in names]

    def joined(self, node: int) -> int:
        """How often a collector of this node began."""
        return len(re.findall(rf"node {self._machines.address(node)}: \d+ sessions", self._said.read_text()))

    def complete(self) -> int:
        """Trajectories."""
        return sum(map(is_complete, list_trajectories(self.results))) if self.results.exists() else 0

    def wait(self, happened: Any) -> None:
        """Until it did, or the run ended."""
        while not happened() and self.process.poll() is None:
            self.look()

    def look(self) -> None:
        """At its memory, and at who joined."""
        time.sleep(0.2)
        for node in NODES:
            self.joins.setdefault((node, self.joined(node)), time.monotonic())
        with contextlib.suppress(psutil.Error):
            self.most_mb = max(self.most_mb, psutil.Process(self.process.pid).memory_info().rss / 1e6)

    def end(self) -> float:
        """Wait for it; seconds that it took."""
        while self.process.poll() is None:
            self.look()
        if self.process.returncode:
            raise RuntimeError(self._said.read_text()[-2000:])
        return round(time.monotonic() - self.began, 1)


def begin_machines(machines: Machines) -> None:
    """The teacher, on the first node; websites and Ray on all."""
    server = ["environments/sites/expert/server.py", "--host", machines.address(1), "--port", _TEACHER_PORT]
    machines.begin(1, sys.executable, *server, output="teacher")
    for node in NODES:
        machines.start(node)


def ray_flags(machines: Machines, num_sessions: int) -> list[object]:
    """For a collection over all nodes."""
    return ["--ray_address", f"{machines.address(1)}:{_RAY_PORT}", "--num_sessions", num_sessions]


def _collect_twice(config: Config, machines: Machines, folder: Path) -> dict[str, Any]:
    tasks = [task for name in ("test", "test-2") for task in read_tasks(ROOT / "data" / "tasks" / f"{name}.jsonl")]
    write_tasks(folder / "tasks.jsonl", tasks[: config.num_tasks])
    begin_machines(machines)
    one = Run(machines, folder, "one", "--num_sessions", config.num_sessions)
    report: dict[str, Any] = {"one_machine_s": one.end()}
    three = Run(machines, folder, "three", *ray_flags(machines, config.num_sessions))
    report |= _disturb(three, machines, config.num_tasks)
    report["three_nodes_s"] = three.end()
    report["joined_s"] = {
        f"{machines.address(node)}, time {count}": round(when - three.began, 1)
        for (node, count), when in three.joins.items()
        if count
    }
    report["driver_mb"] = round(three.most_mb)
    size_mb = sum(path.stat().st_size for path in three.results.rglob("*") if path.is_file()) / 1e6
    report["streamed_mb"], report["streamed_mb_per_s"] = round(size_mb), round(size_mb / report["three_nodes_s"], 2)
    return report | _check(one, three, machines)


def _disturb(run: Run, machines: Machines, num_tasks: int) -> dict[str, Any]:
    """What is done to them, each when a further part of the tasks is done; the seconds until the next trajectory is
    complete and until it is known. Nodes come back while the run goes on, if it goes on for so long."""
    report = {}
    run.wait(lambda: all(run.joined(node) for node in NODES))
    with _event(run, report, "killed_collector", f"node {machines.address(2)}: its collector died", num_tasks * 0.15):
        for process in machines.processes(2):
            if process.name().startswith("ray::Node"):
                process.kill()
    with _event(run, report, "killed_node", f"node {machines.address(3)} is gone", num_tasks * 0.25):
        machines.kill(3)
    _start_beside(run, machines, 3)
    with _event(run, report, "cut_link", f"node {machines.address(2)} is gone", num_tasks * 0.45):
        machines.link(2, "down")
    machines.kill(2)
    machines.link(2, "up")
    _start_beside(run, machines, 2)
    return report


def _start_beside(run: Run, machines: Machines, node: int) -> None:
    """In a thread that is there as long as the run: what it starts dies with it."""

    def start() -> None:
        machines.start(node)
        run.process.wait()

    threading.Thread(target=start, daemon=True).start()


@contextlib.contextmanager
def _event(run: Run, report: dict[str, Any], name: str, words: str, num_complete: float) -> Iterator[None]:
    run.wait(lambda: run.complete() >= num_complete)
    begin = time.monotonic()
    yield
    before = run.complete()
    run.wait(lambda: run.complete() > before)
    next_s = round(time.monotonic() - begin, 1)
    run.wait(lambda: run.said(words))
    report[name] = {"at_tasks": before, "next_trajectory_s": next_s, "known_s": round(time.monotonic() - begin, 1)}


def _check(one: Run, three: Run, machines: Machines) -> dict[str, Any]:
    """Compare what lies on disk with what must."""
    names = [folder.name for folder in list_trajectories(one.results)]
    wrong = sorted({folder.name for folder in list_trajectories(three.results)} ^ set(names))
    verdicts = {"one": 0, "three": 0}
    for name in names:
        pair = [read_trajectory(run.results / name) for run in (one, three)]
        if pair[0].outcome.verdict != pair[1].outcome.verdict or pair[0].answer != pair[1].answer:
            wrong.append(f"{name}: {pair[0].outcome.verdict}, {pair[1].outcome.verdict}")
        if three.said(f"\n{name}: ") != 1:
            wrong.append(f"{name}: taken {three.said(f'{name}: ')} times")
        verdicts["one"] += pair[0].outcome.success
        verdicts["three"] += pair[1].outcome.success
    differ = [] if wrong else compare(one.results, three.results, is_exact=False)
    time.sleep(15)
    chrome = [process.pid for node in NODES for process in machines.processes(node) if "chrom" in process.name()]
    hidden = [path.name for path in three.results.glob(".*") if path.name not in (".lock", ".judge")]
    scratch = list(machines.scratch(1).glob("elcano-*"))  # a power cut leaves what there is
    return {
        "tasks": len(names),
        "solved": verdicts,
        "wrong": wrong,
        "differ_in_a_step": [dataclasses.asdict(found) for found in differ],
        "left_over": [*chrome, *hidden, *map(str, scratch)],
    }


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
