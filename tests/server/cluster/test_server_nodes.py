"""hf_online_server.py --ray_address: replicas on the nodes of a Ray cluster behind one URL."""

import contextlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.files import read_json
from tests import tiny
from tests.collection.nodes.node_chaos import Machines
from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY, NODES, Cluster, cluster
from tests.namespaces import can_make_hosts, hosts
from tests.server.helpers import SERVER, RunningServer, running_server, server_environment, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), NEEDS_RAY]
ASK = {"conversations": [{"role": "user", "content": "go"}], "max_new_tokens": 5}


@pytest.fixture(scope="module")
def ray() -> Iterator[Cluster]:
    with cluster() as started, pytest.MonkeyPatch.context() as patch:
        for name, value in started.variables.items():
            patch.setenv(name, value)
        yield started


@pytest.fixture
def start(ray: Cluster, tiny_policy: Path) -> Iterator[Callable[..., RunningServer]]:
    with contextlib.ExitStack() as stack:

        def begin(*flags: str) -> RunningServer:
            address = ("--ray_address", ray.variables["RAY_ADDRESS"], "--replicas", "2", "--temperature", "0")
            return stack.enter_context(running_server(tiny_policy, *address, *flags))

        yield begin


def servers(ray: Cluster) -> list[tuple[str, psutil.Process]]:
    """Each with the node that it runs on."""
    keepers = [(node, keeper) for node in ray.nodes for keeper in ray.actors(node, "_Keeper")]
    return [(node, child) for node, keeper in keepers for child in keeper.children() if str(SERVER) in child.cmdline()]


def finished(server: RunningServer) -> list[int]:
    return [replica["num_finished"] for replica in server.get("/health")["replicas"]]


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def refused(folder: Path, *flags: str) -> str:
    command = [sys.executable, str(SERVER), "--model_name_or_path", str(folder), "--port", "0", *flags]
    done = subprocess.run(command, env=server_environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    return done.stderr


def listening(process: psutil.Process) -> str:
    return next(one.laddr for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN)


def test_an_episode_stays_on_its_node_and_strangers_get_no_answer_there(ray: Cluster, start: Callable) -> None:
    server = start()
    found = servers(ray)
    assert {node for node, _ in found} == set(NODES)
    for number in range(8):
        before = finished(server)
        for _ in range(3):
            assert server.post("/predict", {**ASK, "id": f"episode {number}"})[0] == 200
        assert sorted(now - then for now, then in zip(finished(server), before, strict=True)) == [0, 3]
    assert min(finished(server)) > 0
    for _, process in found:
        host, port = listening(process)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://{host}:{port}/v1/models")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    wait_for(lambda: all(gone(process) for _, process in found))


def test_too_many_at_once_are_told_to_come_again(start: Callable) -> None:
    server = start("--max_batch_size", "1", "--max_queue", "1")
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda number: server.post("/predict", {**ASK, "max_new_tokens": 200})[0], range(16)))
    assert set(codes) == {200, 429}


@pytest.mark.parametrize(
    "address, flags, says",
    [
        ("127.0.0.1:1", (), "nothing answers there"),
        ("", ("--replicas", "5"), "its nodes have room for 4 replicas of a GPU each, not --replicas 5"),
        ("", ("--replicas", "9", "--device", "cpu"), "room for 8 replicas of 1 cores (OMP_NUM_THREADS) each"),
    ],
)
def test_what_cannot_be_is_one_line(
    ray: Cluster, tiny_policy: Path, address: str, flags: tuple[str, ...], says: str
) -> None:
    done = refused(tiny_policy, "--ray_address", address or ray.variables["RAY_ADDRESS"], *flags)
    assert done.startswith("error: ") and says in done and done.count("\n") == 1


def test_what_a_replica_says_as_it_ends_is_told(ray: Cluster, tiny_policy: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_policy, tmp_path / "broken")
    next(broken.glob("*.safetensors")).write_bytes(b"no weights")
    said = refused(broken, "--ray_address", ray.variables["RAY_ADDRESS"])
    assert re.fullmatch(r"error: node \S+: error: .*: its weights do not load .*\n", said)


BEGINS_NOTHING = """
import sys, time
from common.ray_cluster.settings import prepare
prepare(sys.argv[1], "test")
from common.errors import UserError
from common.ray_cluster import cluster
cluster.join(sys.argv[1], "test")
from server.cluster.node_process import NodeProcess
process = NodeProcess(["/no/such/python"], {"num_cpus": 1}, {})
try:
    process.address()
except UserError as error:
    print(error)
while process.poll() is None:
    time.sleep(0.1)
print(process.poll())
"""


def test_a_process_that_cannot_begin_has_ended(ray: Cluster) -> None:
    """Else nobody would start it again."""
    command = [sys.executable, "-c", BEGINS_NOTHING, ray.variables["RAY_ADDRESS"]]
    done = subprocess.run(command, cwd=ROOT, env=server_environment(), capture_output=True, text=True, timeout=120)
    said, code = done.stdout.splitlines()
    assert "/no/such/python" in said and code == "-9"


def test_the_benchmark_serving_nodes_runs(ray: Cluster, tmp_path: Path) -> None:
    small = "--repeats 1 --num_requests 3 --rounds 1 --agents 2 --steps 1 --prompt_tokens 300".split()
    command = [sys.executable, "-m", "benchmarks.serving_nodes", *small, "--output", tmp_path / "x.json"]
    subprocess.run(command, cwd=ROOT, env=server_environment(), check=True, timeout=600)
    assert read_json(tmp_path / "x.json")["replicas"].keys() == {"1", "2"}


def test_what_dies_comes_back_with_the_weights_of_the_last_reload(
    ray: Cluster, start: Callable, tmp_path: Path
) -> None:
    other = tiny.build_decisive_policy(tmp_path / "other", hidden=32)
    server = start()
    version = server.post("/reload", {"model_name_or_path": str(other)})[1]["weights_version"]
    assert {replica["weights_version"] for replica in server.get("/health")["replicas"]} == {version}

    def answered(number: int) -> bool:
        status, reply = server.post("/predict", {**ASK, "id": f"episode {number}"})
        assert status in (200, 503) and (status == 503 or reply["weights_version"] == version)
        return status == 200

    def whole() -> bool:
        state = server.get("/health")
        return state["status"] == "ok" and state["weights_version"] == version

    def lost_at(event: Callable[[], Any]) -> float:
        """Seconds until the last request that was not answered, once all is well again."""
        wait_for(whole)
        event()
        begun, last, is_known = time.monotonic(), 0.0, False
        while not (is_known and whole()):
            assert time.monotonic() - begun < 120
            if not all(map(answered, range(8))):
                last = time.monotonic() - begun
            is_known = is_known or not whole()
        return last

    print(f"a node: {lost_at(lambda: ray.kill(NODES[1])):.1f} s")
    assert [node for node, _ in servers(ray)] == [NODES[0]] * 2
    print(f"a worker: {lost_at(ray.actors(NODES[0], '_Keeper')[0].kill):.1f} s")
    print(f"a server: {lost_at(servers(ray)[0][1].kill):.1f} s")
    server.process.kill()
    wait_for(lambda: not ray.actors(NODES[0], "_Keeper") and not servers(ray))


ASKS = """
import json, os, sys, threading, time, urllib.error, urllib.request
def ask(number):
    body = {"conversations": [{"role": "user", "content": "go"}], "max_new_tokens": 5, "id": f"episode {number}"}
    while True:
        begun = time.monotonic()
        request = urllib.request.Request(sys.argv[1], json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            status = urllib.request.urlopen(request, timeout=120).status
        except urllib.error.HTTPError as error:
            status = error.code
        os.write(1, f"{status} {time.monotonic()} {time.monotonic() - begun}\\n".encode())  # a line at once
        time.sleep(0.2)
for number in range(8):
    threading.Thread(target=ask, args=(number,)).start()
"""


def test_a_cut_link_holds_nobody_for_long(tiny_policy: Path) -> None:
    """Three machines as network namespaces, a replica on each; requests are asked on the first."""
    if not can_make_hosts():
        pytest.skip("needs root and network namespaces (ip netns add)")
    with tempfile.TemporaryDirectory(prefix="ns-") as name, hosts(3) as made:  # Ray's sockets have long names
        folder, machines = Path(name), Machines(Path(name), made)
        for node in (1, 2, 3):
            machines.start(node)
        url = f"http://{machines.address(1)}:8080"
        where = ["--ray_address", f"{machines.address(1)}:6379", "--replicas", 3, "--device", "cpu"]
        words = ["--model_name_or_path", tiny_policy, "--host", machines.address(1), "--port", 8080, *where]
        machines.begin(1, sys.executable, SERVER, *words, output="server")
        wait_for(lambda: "serving " in (folder / "server").read_text())
        asking = machines.begin(1, sys.executable, "-c", ASKS, f"{url}/predict", output="asked")

        def asked() -> list[list[float]]:
            return [[float(word) for word in line.split()] for line in (folder / "asked").read_text().splitlines()[:-1]]

        wait_for(lambda: len(asked()) > 100)
        assert {int(status) for status, *_ in asked()} == {200}
        machines.link(2, "down")
        cut = time.monotonic()
        time.sleep(45)
        asking.kill()
        found = asked()
        bad = [ended - cut for status, ended, _ in found if status != 200]
        print(f"a cut link: last 503 after {max(bad, default=0):.1f} s, longest wait {max(s for *_, s in found):.1f} s")
        assert max(bad, default=0) < 30 and max(seconds for *_, seconds in found) < 30
        assert sum(ended > cut + 30 for _, ended, _ in found) > 8
