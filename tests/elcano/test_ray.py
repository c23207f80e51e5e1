"""The Ray executor on real clusters of this machine: commands, services, and all that goes wrong."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from common.errors import UserError
from common.files import read_json
from data.task import read_tasks, write_tasks
from elcano.executors.executor import Command, Executor, load_executor
from elcano.resources import Resources
from tests.conftest import ROOT
from tests.elcano.captain import SERVES, captain
from tests.elcano.ray_nodes import NEEDS_RAY, NODES, Cluster, cluster
from tests.elcano.test_moved_run import RECIPE
from tests.elcano.test_stage import SLOW_TO_END
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    NEEDS_RAY,
]
ANCESTORS = "import psutil; print(*(process.pid for process in psutil.Process().parents()))"
SECRET = "a-secret-of-the-shell"


@pytest.fixture(scope="module")
def ray() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture(scope="module")
def executor(ray: Cluster) -> Iterator[Executor]:
    """A run of many commands, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ray.variables, "A_SECRET": SECRET}.items():
            patch.setenv(name, value)
        yield load_executor("ray")
        sys.modules["ray"].shutdown()


@pytest.fixture
def start(ray: Cluster, spawn: Callable[..., subprocess.Popen]) -> Callable[..., subprocess.Popen]:
    """A run of one command in a process of its own."""

    def begin(log: Path, *words: object, **variables: str) -> subprocess.Popen:
        env = {**own(), **ray.variables, **variables}
        return spawn("-c", captain("ray"), log, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)

    return begin


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A recipe of one round, two tasks of each kind."""
    for split in ("IL", "test"):
        tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / f"{split}.jsonl") if "price" in task.id][:2]
        write_tasks(tmp_path / f"{split}.jsonl", tasks)
    (tmp_path / "recipe.py").write_text(RECIPE.replace("HERE.parent", f"Path({str(ROOT)!r})"))
    return tmp_path / "recipe.py"


def own() -> dict[str, str]:
    """This process's variables without those that lead the module's executor to its cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def ended(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def running(mark: str) -> list[psutil.Process]:
    """Processes that have it in a variable."""
    found = []
    for process in psutil.process_iter(["status"]):
        with contextlib.suppress(psutil.Error):
            if process.environ().get("A_MARK") == mark and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def listening(processes: list[psutil.Process]) -> list[str]:
    """The addresses of Ray's own: commands have a key for servers, and torchrun listens for its ranks."""
    sockets = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if "ELCANO_API_KEY" in process.environ():
                continue
            sockets += [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    return [one.laddr.ip for one in sockets]


def written(path: Path) -> int:
    """The process id that a command wrote."""
    wait_until(lambda: path.exists() and path.read_text().strip(), 120)
    return int(path.read_text())


def test_a_command_runs_as_on_this_machine(executor: Executor, ray: Cluster, tmp_path: Path) -> None:
    log = tmp_path / "a run" / "logs" / "x.log"
    script = (
        "import os, signal; e = os.environ; print(os.getcwd(), e['NAME'], e['OMP_NUM_THREADS'], e['A_SECRET'], "
        "e['CUDA_VISIBLE_DEVICES'], [n for n in e if n.startswith('RAY_')], signal.pthread_sigmask(0, []), sep='|')"
    )
    command = Command([sys.executable, "-c", script], log, {"NAME": "a 'b' $c"})
    executor.run(command, Resources(num_cores=2, num_gpus=2, memory_gib=1, partition=NODES[1]))
    typed, said = log.read_text().splitlines()
    assert typed.startswith("$ OMP_NUM_THREADS=2 NAME=") and said == f"{ROOT}|a 'b' $c|2|{SECRET}|0,1|[]|set()"
    executor.run(Command(["bash", "-c", "echo GPUs:$CUDA_VISIBLE_DEVICES."], log))
    assert log.read_text().endswith("GPUs:.\n")


def test_secrets_are_in_no_log_and_on_no_command_line(executor: Executor, ray: Cluster, tmp_path: Path) -> None:
    secrets = [SECRET.encode(), (ray.folder / "token").read_bytes()]
    begun = tmp_path / "begun"
    executor.run(Command(["bash", "-c", f"tr '\\0' '\\n' < /proc/$$/environ > {begun}"], tmp_path / "x.log"))
    assert SECRET in begun.read_text()
    lines = [" ".join(process.info["cmdline"] or []).encode() for process in psutil.process_iter(["cmdline"])]
    logs = [path for path in ray.folder.rglob("*") if path.is_file() and path.name != "token"]
    assert len(logs) > 5
    for text in [*lines, *(path.read_bytes() for path in [*logs, tmp_path / "x.log"])]:
        assert not any(secret in text for secret in secrets)


def test_a_failure_is_one_line_with_the_commands_last_words(executor: Executor, tmp_path: Path) -> None:
    command = Command(["bash", "-c", "echo error: no such shards; exit 7"], tmp_path / "x.log")
    with pytest.raises(UserError, match=r"ended with code 7: no such shards \(log: .*x\.log\)"):
        executor.run(command)


@pytest.mark.parametrize(
    "needs, says",
    [
        (Resources(num_cores=99), "no node of the Ray cluster has 99 cores; there is 4 cores, 2 GPUs"),
        (Resources(num_gpus=3), "no node of the Ray cluster has 3 GPUs"),
        (Resources(memory_gib=9999), "no node of the Ray cluster has 9999 GiB"),
        (Resources(partition="nowhere"), "has the label partition=nowhere; there is .*partition=first"),
        (Resources(time_h=0.0005), "was ended after its 0.0005 h; the same command continues"),
    ],
)
def test_what_the_cluster_cannot_give_is_one_line(
    needs: Resources, says: str, executor: Executor, tmp_path: Path
) -> None:
    begin = time.monotonic()
    with pytest.raises(UserError, match=says) as refused:
        executor.run(Command(["sleep", "100"], tmp_path / "x.log"), needs)
    assert "\n" not in str(refused.value) and time.monotonic() - begin < 60


def test_a_command_that_would_wait_for_its_own_services_is_refused(executor: Executor, tmp_path: Path) -> None:
    def command(host: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, host, str(port)], tmp_path / "s.log")

    needs = Resources(num_cores=3, partition=NODES[1])
    with (
        executor.service(command, "/README.md", needs),
        pytest.raises(UserError, match="partition=second beside the services of this run"),
    ):
        executor.run(Command(["true"], tmp_path / "x.log"), needs)
    executor.run(Command(["true"], tmp_path / "x.log"), needs)


def test_a_service_answers_at_its_nodes_address_and_ends_with_the_block(executor: Executor, tmp_path: Path) -> None:
    log = tmp_path / "IL" / "logs" / "server.log"

    def command(host: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, host, str(port)], log)

    with executor.service(command, "/README.md", Resources(partition=NODES[1])) as url:
        assert "127.0.0.1" not in url and urllib.request.urlopen(f"{url}/README.md").status == 200
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{url}/README.md", timeout=5)
    with (
        pytest.raises(UserError, match=r"a service ended at start with code 1: refused \(log"),
        executor.service(lambda host, port: Command(["bash", "-c", f"echo error: refused; exit 1 {host}"], log), "/"),
    ):
        pass


def test_what_uses_a_service_on_loopback_runs_beside_it(executor: Executor, ray: Cluster, tmp_path: Path) -> None:
    def command(_: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, "127.0.0.1", str(port)], tmp_path / "s.log")

    def node(needs: Resources) -> str:
        log = tmp_path / "where.log"
        executor.run(Command([sys.executable, "-c", ANCESTORS], log), needs)
        return ray.node_of(int(pid) for pid in log.read_text().splitlines()[-1].split())

    anywhere = Resources(partition=NODES[1])
    with executor.service(command, "/README.md") as url:
        assert url.startswith("http://127.0.0.1:") and node(anywhere) == NODES[0]
    assert node(anywhere) == NODES[1]


def test_an_interrupted_command_may_save_what_it_has(start: Callable, tmp_path: Path) -> None:
    saved, begun = tmp_path / "saved", tmp_path / "begun"
    run = start(tmp_path / "x.log", sys.executable, "-c", SLOW_TO_END, saved, begun)
    wait_until(begun.exists, 120)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(120) == 130
    assert saved.read_text() == "saved" and "has saved its work" in run.stdout.read()


def test_a_second_interrupt_waits_no_longer(start: Callable, tmp_path: Path) -> None:
    """And what the command began ends with it."""
    pid = tmp_path / "pid"
    run = start(tmp_path / "x.log", "bash", "-c", f"trap '' TERM; sleep 600 & echo $! > {pid}; wait; wait")
    child = written(pid)
    os.killpg(run.pid, signal.SIGINT)
    time.sleep(5)
    assert run.poll() is None and not ended(child)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(60) == 130
    wait_until(lambda: ended(child), 20)


def test_a_killed_run_leaves_no_command_behind(start: Callable, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    run = start(tmp_path / "x.log", "bash", "-c", f"echo $$ > {pid}; exec sleep 600")
    command = written(pid)
    run.kill()
    wait_until(lambda: ended(command), 30)


def test_what_a_dead_worker_kept_is_begun_again(start: Callable, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    words = ["bash", "-c", f"[ -e {pid} ] && exit; echo $$ > {pid}; exec sleep 600"]
    run = start(tmp_path / "x.log", *words)
    command = written(pid)
    psutil.Process(command).parent().kill()
    said, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert "the worker process that kept it has died; the same command continues (log: " in said
    assert "begun again, on 1 node" in said
    wait_until(lambda: ended(command), 20)


def test_a_node_that_nothing_stands_for_is_told_and_the_next_start_continues(
    ray: Cluster, spawn: Callable, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"

    def begin() -> subprocess.Popen:
        words = ["bash", "-c", f"[ -e {pid} ] && exit; echo $$ > {pid}; exec sleep 600"]
        env = {**own(), **ray.variables}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return spawn("-c", captain("ray", NODES[1]), tmp_path / "x.log", *words, env=env, **pipes)

    run = begin()
    command = written(pid)
    ray.kill(NODES[1])
    try:
        wait_until(lambda: ended(command), 60)
        said, errors = run.communicate(timeout=180)
        assert run.returncode == 2
        assert "the node is gone; the same command continues (log: " in said
        assert f"no node of the Ray cluster has the label partition={NODES[1]}" in errors
        assert errors.count("error: ") == 1 == errors.count("\n"), errors
    finally:
        ray.start(NODES[1])
    assert begin().wait(120) == 0


@pytest.mark.parametrize(
    "variables, says",
    [
        ({"RAY_AUTH_TOKEN": "another"}, "it wants another token"),
        ({"RAY_AUTH_TOKEN_PATH": "", "HOME": "/nonexistent"}, "it wants another token"),
        ({"RAY_AUTH_MODE": "disabled"}, "it wants another token"),
    ],
)
def test_without_the_clusters_token_it_is_refused(
    variables: dict[str, str], says: str, start: Callable, tmp_path: Path
) -> None:
    run = start(tmp_path / "x.log", "true", **variables)
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 2 and says in said and said.count("\n") == 1, said


def test_a_cluster_that_asks_for_no_token_is_refused(start: Callable, tmp_path: Path) -> None:
    with cluster(nodes=NODES[:1], mode="disabled") as open_to_all:
        run = start(tmp_path / "x.log", "true", **open_to_all.variables)
        said = run.communicate(timeout=120)[1]
        assert run.returncode == 2 and "asks nobody for a token" in said and said.count("\n") == 1, said
        assert not (tmp_path / "x.log").exists()
        run = start(tmp_path / "x.log", "true", **open_to_all.variables, RAY_AUTH_MODE="disabled")
        assert run.communicate(timeout=120) and run.returncode == 0


def test_a_whole_run_killed_in_training_ends_as_on_this_machine(ray: Cluster, small: Path, spawn: Callable) -> None:
    """Begun on a cluster of its own, which listens on loopback and dies with it; ended on another. The same weights
    and the same success."""
    folder, mark = small.parent, str(small)

    def run(executor: str, output: str, **variables: str) -> subprocess.Popen:
        words = ["run", small, "--output_dir", folder / output, "--executor", executor]
        env = {**own(), "A_MARK": mark, **variables}
        return spawn("-m", "elcano.cli", *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)

    assert run("local", "local").wait(900) == 0
    begun = run("ray", "ray")
    checkpoints = folder / "ray" / "IL" / "training" / "checkpoint" / "IL"
    wait_until((checkpoints / "latest_checkpointed_iteration.txt").exists, 900)
    started = psutil.Process(begun.pid).children(recursive=True)
    assert {"raylet", "gcs_server"} < {process.name() for process in started} and running(mark)
    assert {address.rpartition(":")[2] for address in listening(started)} == {"127.0.0.1"}
    commands = [process for process in started if not process.name().startswith("ray::")]
    begun.kill()
    wait_until(lambda: all(ended(process.pid) for process in commands), 30)
    # two agents look for what is gone for a minute
    wait_until(lambda: all(ended(process.pid) for process in started), 180)
    saved = int((checkpoints / "latest_checkpointed_iteration.txt").read_text())
    again = run("ray", "ray", **ray.variables)
    assert again.wait(900) == 0, again.stderr.read()
    said = (folder / "ray" / "IL" / "logs" / "train.log").read_text().rpartition("training/train.sh")[2]
    steps = [int(step) for step in re.findall(r"iteration (\d+)/30", said)]
    assert (steps[0], steps[-1]) == (saved + 1, 30)

    here, there = (read_json(folder / name / "summary.json")["rounds"] for name in ("local", "ray"))
    assert here == there and [result["num_tasks"] for result in here] == [2, 2]
    weights = sorted((folder / "local" / "IL" / "policy").glob("*.safetensors"))
    assert weights
    for path in weights:
        ours, theirs = (load_file(file) for file in (path, folder / "ray" / "IL" / "policy" / path.name))
        assert ours.keys() == theirs.keys()
        for name in ours:
            torch.testing.assert_close(ours[name], theirs[name], rtol=2**-7, atol=1e-6)  # one rounding in bf16
    wait_until(lambda: not running(mark), 60)
