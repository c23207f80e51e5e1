"""One collection over two nodes of a real Ray cluster on this machine, and what dies while it runs."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from common.files import read_json
from common.processes import served
from data.task import read_tasks
from data.trajectory import read_trajectory
from tests.collection.collector import Collector, task
from tests.collection.repeats import compare
from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY, NODES, Cluster, cluster
from tests.environments import website
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    NEEDS_RAY,
]
SECRET = "a-secret-of-the-shell"
SLOW = "Wait | Wait | Restart | ANSWER; done"


@pytest.fixture(scope="module")
def ray() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def over_nodes(ray: Cluster) -> dict[str, Any]:
    return {"ray_address": ray.variables["RAY_ADDRESS"], "num_sessions": 2}


@pytest.fixture
def start(ray: Cluster, spawn: Callable[..., subprocess.Popen]) -> Callable[..., subprocess.Popen]:
    """A collector, whose words go to `said`."""

    def begin(collector: Collector, tasks: list[dict[str, Any]], **flags: Any) -> subprocess.Popen:
        with open(collector.folder / "said", "w") as said:
            words = collector.arguments(tasks, **flags)
            return spawn(*words, env=environment(ray), stdout=subprocess.DEVNULL, stderr=said)

    return begin


def environment(ray: Cluster) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "RAY_ADDRESS")}
    return {**own, "RAY_AUTH_TOKEN_PATH": ray.variables["RAY_AUTH_TOKEN_PATH"], "ELCANO_API_KEY": SECRET}


@pytest.mark.parametrize("is_shared", [False, True])
def test_two_nodes_take_what_one_machine_takes(
    is_shared: bool, ray: Cluster, tmp_path: Path, spawn: Callable[..., subprocess.Popen]
) -> None:
    """The same trees, pictures, replies and verdicts; keys in nobody's log."""
    ids = [found.id for found in read_tasks(ROOT / "data" / "tasks" / "test.jsonl")][::12]
    flags = ["--env_tasks", *ids, "--headless", "--num_sessions", "2", "--max_iter", "15", "--seed", "3"]
    nodes = ["--ray_address", ray.variables["RAY_ADDRESS"], *(["--shared_output_dir"] if is_shared else [])]
    teacher = spawn("environments/sites/expert/server.py", "--port", "0", stdout=subprocess.PIPE)
    api_base = teacher.stdout.readline().split()[-1]
    with served("environments.sites") as port:
        for name, more in (("one", []), ("two", nodes)):
            where = ["--sites_port", port, "--api_base", api_base, "--judge", "oracle"]
            words = [*flags, *where, "--output_dir", tmp_path / name, *more]
            command = [sys.executable, "collection/run.py", *map(str, words)]
            done = subprocess.run(command, cwd=ROOT, env=environment(ray), capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    assert done.stderr.count(": 2 sessions") == 2
    assert compare(tmp_path / "one", tmp_path / "two", is_exact=False) == []
    assert sum(read_trajectory(folder).outcome.success for folder in (tmp_path / "two").glob("task*")) == len(ids)
    assert not (tmp_path / "two" / ".arriving").exists()
    logs = [path for path in ray.folder.rglob("*") if path.is_file()]
    assert len(logs) > 5 and not any(SECRET.encode() in path.read_bytes() for path in logs)


def test_what_dies_loses_nothing_and_what_joins_takes_work(
    ray: Cluster, over_nodes: dict[str, Any], collector: Collector, url: str, start: Callable
) -> None:
    """A collector's process, then its node; then the node comes back."""
    tasks = [task(number, f"{url}/", SLOW) for number in range(60)]
    run = start(collector, tasks, api_localhost=f"{url}/predict", **over_nodes)
    said = collector.folder / "said"

    def is_said(words: str, times: int = 1) -> bool:
        assert run.poll() is None, said.read_text()
        return said.read_text().count(words) >= times

    try:
        wait_until(lambda: is_said(": 2 sessions", 2) and len(collector.complete()) > 2, 240)
        [worker] = ray.actors(NODES[1], "Node")
        worker.kill()
        wait_until(lambda: is_said("its collector died; others take") and is_said(": 2 sessions", 3), 240)
        ray.kill(NODES[1])
        wait_until(lambda: is_said("is gone"), 240)
    finally:
        if NODES[1] not in ray.nodes:
            ray.start(NODES[1])
    wait_until(lambda: is_said(": 2 sessions", 4), 240)
    assert run.wait(600) == 0, said.read_text()
    assert [folder.name for folder in collector.complete()] == sorted(f"taskT--{number}" for number in range(60))
    steps = [read_trajectory(folder).steps for folder in collector.complete()]
    assert all([step.number for step in taken] == [1, 2, 3, 4] for taken in steps)
    for number in range(60):
        assert said.read_text().count(f"taskT--{number}: 4 steps") == 1
    assert sorted(path.name for path in collector.results.glob(".*")) == [".lock"]
    wait_until(lambda: not list(Path(tempfile.gettempdir()).glob("elcano-node-*")), 30)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_driver_leaves_nothing_and_the_next_goes_on(
    how: signal.Signals,
    ray: Cluster,
    over_nodes: dict[str, Any],
    collector: Collector,
    url: str,
    start: Callable,
) -> None:
    tasks = [task(number, f"{url}/", SLOW) for number in range(8)]
    run = start(collector, tasks, api_localhost=f"{url}/predict", **over_nodes)
    wait_until(lambda: len(collector.complete()) > 1 or run.poll() is not None, 240)
    browsers = [
        process
        for actor in [found for node in NODES for found in ray.actors(node, "Node")]
        for process in actor.children(recursive=True)
    ]
    assert any("chrom" in process.name() for process in browsers)
    os.kill(run.pid, how)
    assert run.wait(60) == {signal.SIGINT: 130, signal.SIGTERM: 143}.get(how, -how)
    wait_until(lambda: not any(process.is_running() for process in browsers), 30)
    before = {folder: (folder / "trajectory.json").stat().st_mtime_ns for folder in collector.complete()}
    assert 0 < len(before) < 8
    run = start(collector, tasks, api_localhost=f"{url}/predict", **over_nodes)
    assert run.wait(300) == 0, (collector.folder / "said").read_text()
    assert len(collector.complete()) == 8
    assert all((folder / "trajectory.json").stat().st_mtime_ns == when for folder, when in before.items())


def test_turns_on_a_website_are_spaced_over_all_nodes(
    over_nodes: dict[str, Any], collector: Collector, start: Callable
) -> None:
    visits: list[float] = []

    class Timed(website.Handler):
        def do_GET(self) -> None:  # noqa: N802
            if self.path == "/":
                visits.append(time.monotonic())
            super().do_GET()

    server = website.start(handler=Timed)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        tasks = [task(number, f"{url}/", "Restart | Restart | Restart | ANSWER; done") for number in range(2)]
        flags = {**over_nodes, "num_sessions": 1, "site_interval_s": 2}
        run = start(collector, tasks, api_localhost=f"{url}/predict", **flags)
        assert run.wait(300) == 0, (collector.folder / "said").read_text()
    finally:
        website.stop(server)
    assert len(visits) == 8 and max(visits) - min(visits) > 12  # one node's alone would be half of that


def test_a_node_that_cannot_collect_is_left_out_in_one_line(
    over_nodes: dict[str, Any], collector: Collector, site: ThreadingHTTPServer, url: str, start: Callable
) -> None:
    tasks = [task(1, "http://shop.localhost:9/", "ANSWER; x")]
    run = start(collector, tasks, api_localhost=f"{url}/predict", **over_nodes)
    assert run.wait(120) == 2
    said = (collector.folder / "said").read_text()
    assert said.count("left out: node ") == 2 and "error: no node of the Ray cluster can collect: node " in said
    assert "no websites answer on port 9" in said.splitlines()[-1]


def test_the_benchmark_collection_nodes_runs(tmp_path: Path) -> None:
    small = "--repeats 1 --num_tasks 10 --num_sessions 2 --num_streams 2 --stream_s 1".split()
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-m", "benchmarks.collection_nodes", *small, "--output", tmp_path / "x.json"]
    subprocess.run(command, cwd=ROOT, env=own, check=True, timeout=600)
    assert read_json(tmp_path / "x.json").keys() == {"steps_per_s", "ratios", "streamed_mb_per_s"}
