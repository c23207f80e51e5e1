"""train_idefics2.sh on two hosts with addresses of their own, and on two nodes of a cluster: as on one, and continued
when one dies."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from common.errors import UserError
from common.options.flags import variables
from elcano.executors.executor import Command, load_executor
from elcano.resources import Resources
from tests import tiny
from tests.conftest import ROOT
from tests.elcano import ray_nodes, slurm_cluster
from tests.elcano.captain import captain
from tests.namespaces import Host, can_make_hosts, hosts
from tests.training.script import Run, metrics, wait_until_gone
from training.options import TrainingOptions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FLAGS = {
    **{
        "tp": 1,
        "pr": "fp32",
        "batch_size": 2,
        "global_batch_size": 8,
        "num_workers": 0,
        "ac": "none",
        "run_name": "run",
    },
    **{"train_iters": 6, "save_interval": 2, "lr": 1e-3, "lr_warmup_iters": 2},
}
EXECUTORS = pytest.mark.parametrize(("name", "cluster"), [("slurm", "slurm_nodes"), ("ray", "rays_nodes")])


@pytest.fixture
def two() -> Iterator[list[Host]]:
    if not can_make_hosts():
        pytest.skip("needs root and network namespaces (ip netns add)")
    with hosts(2) as made:
        yield made


@pytest.fixture
def slurm_nodes(tmp_path: Path) -> Iterator[None]:
    if slurm_cluster.MISSING or os.geteuid() != 0:
        pytest.skip(f"no SLURM here, or not root: {', '.join(slurm_cluster.MISSING)}")
    (tmp_path / "cluster").mkdir()
    with slurm_cluster.cluster(tmp_path / "cluster"):
        yield


@pytest.fixture
def rays_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ray_nodes.Cluster]:
    if not find_spec("ray"):  # not imported yet: it reads its settings then
        pytest.skip("Ray is not installed: pip install -e '.[ray]'")
    with ray_nodes.cluster() as started:
        for name, value in started.variables.items():
            monkeypatch.setenv(name, value)
        yield started
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()


class TwoHosts:
    """The script on both, on a folder that they share; two ranks, one each."""

    def __init__(self, on: list[Host], shards: Path, megatron: Path, output: Path, **options: object) -> None:
        flags = {**FLAGS, **options}
        paths = {"DATASET_PATH": shards, "PRETRAIN_CHECKPOINT_PATH": megatron, "OUTPUT_BASEPATH": output}
        shared = {"HOST_NUM": 2, "HOST_GPU_NUM": 1, "CHIEF_IP": on[0].address}
        self.processes, self.logs = [], []
        for index, host in enumerate(on):
            words = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
            variables = {name: str(value) for name, value in {**paths, **shared, "INDEX": index}.items()}
            self.logs.append(output.with_name(f"{output.name}-{index}.log"))
            with open(self.logs[-1], "w") as log:
                command = [*host.prefix, "bash", str(ROOT / "training" / "train_idefics2.sh"), *words]
                environment = tiny.environment(**variables)
                self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))

    def wait_for(self, part: str) -> None:
        deadline = time.monotonic() + 300
        while part not in "".join(log.read_text() for log in self.logs):
            assert time.monotonic() < deadline, [log.read_text() for log in self.logs]
            time.sleep(0.1)

    def finish(self) -> str:
        codes = [process.wait(400) for process in self.processes]
        output = "".join(log.read_text() for log in self.logs)
        assert codes == [0, 0], output
        return output


@pytest.fixture(scope="module")
def one_host(shards: Path, megatron: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return Run(shards, megatron, tmp_path_factory.mktemp("one"), tp=1, dp=1).finish()


def check_same_steps(output: str, expected: str, loss_within: float = 1e-5) -> None:
    """Gradient norms, which are printed with four decimals, to 1e-4."""
    found, wanted = metrics(output), metrics(expected)
    assert found and found.keys() <= wanted.keys()
    for step, values in found.items():
        for value, other, within in zip(values, wanted[step], (loss_within, 1e-4), strict=True):
            assert float(value) == pytest.approx(float(other), rel=within)


@pytest.mark.parametrize("layout", [{"tp": 1}, {"tp": 2}], ids=["DP2", "TP2"])
def test_two_hosts_learn_what_one_learns(
    two: list[Host], one_host: str, shards: Path, megatron: Path, tmp_path: Path, layout: dict[str, int]
) -> None:
    output = TwoHosts(two, shards, megatron, tmp_path / "two", **layout).finish()
    assert len(metrics(output)) == 6
    check_same_steps(output, one_host)


def one_dies(two: list[Host], shards: Path, megatron: Path, output: Path) -> None:
    """After a checkpoint."""
    run = TwoHosts(two, shards, megatron, output)
    run.wait_for("saved ")
    two[1].kill()
    assert run.processes[0].wait(120) not in (0, -signal.SIGKILL)  # it notices by itself
    wait_until_gone(str(output))


def test_a_host_that_dies_and_comes_back_changes_nothing(
    two: list[Host], shards: Path, megatron: Path, tmp_path: Path
) -> None:
    undisturbed = TwoHosts(two, shards, megatron, tmp_path / "undisturbed").finish()
    one_dies(two, shards, megatron, tmp_path / "two")
    rest = TwoHosts(two, shards, megatron, tmp_path / "two").finish()
    assert 0 < len(metrics(rest)) < 6
    check_same_steps(rest, undisturbed, 1e-6)


def test_a_host_that_dies_ends_the_run_which_goes_on_with_those_that_are_left(
    two: list[Host], one_host: str, shards: Path, megatron: Path, tmp_path: Path
) -> None:
    one_dies(two, shards, megatron, tmp_path / "two")
    rest = Run(shards, megatron, tmp_path / "two", tp=1, dp=1).finish()
    assert 0 < len(metrics(rest)) < 6
    check_same_steps(rest, one_host)


@EXECUTORS
def test_an_executor_trains_on_two_nodes(
    name: str,
    cluster: str,
    one_host: str,
    shards: Path,
    megatron: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request.getfixturevalue(cluster)
    paths = {"DATASET_PATH": shards, "PRETRAIN_CHECKPOINT_PATH": megatron, "OUTPUT_BASEPATH": tmp_path / "two"}
    said = variables(TrainingOptions(tp=1))  # as a run's, which names each option, HOST_NUM, too
    said |= {name: str(value) for name, value in {**paths, "HOST_GPU_NUM": 1}.items()}
    words = [text for flag, value in FLAGS.items() for text in (f"--{flag}", str(value))]
    monkeypatch.setenv("PYTHON", sys.executable)
    script = str(ROOT / "training" / "train_idefics2.sh")
    log = tmp_path / "logs" / "train.log"
    executor, needs = load_executor(name), Resources(num_nodes=2, num_cores=1)
    with pytest.raises(UserError, match=r"ended with code \d+: .*TP=3 needs 3 devices"):
        executor.run(Command(["bash", script, *words, "--tp", "3"], log, said), needs)
    log.unlink()
    executor.run(Command(["bash", script, *words], log, said), needs)
    assert len(metrics(log.read_text())) == 6
    check_same_steps(log.read_text(), one_host)
    with pytest.raises(UserError, match=r"num_nodes=3|job \d+"):
        executor.run(Command(["true"], log), dataclasses.replace(needs, num_nodes=3))


@EXECUTORS
def test_ctrl_c_saves_on_both_nodes_and_the_same_command_goes_on(
    name: str,
    cluster: str,
    one_host: str,
    shards: Path,
    megatron: Path,
    tmp_path: Path,
    spawn: Callable[..., subprocess.Popen],
    request: pytest.FixtureRequest,
) -> None:
    request.getfixturevalue(cluster)
    paths = {"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": tmp_path / "two"}
    flags = {**FLAGS, **paths, "host_gpu_num": 1, "save_interval": 100}
    words = [str(word) for flag, value in flags.items() for word in (f"--{flag}", value)]
    script, log = str(ROOT / "training" / "train_idefics2.sh"), tmp_path / "logs" / "train.log"
    env = {**os.environ, "PYTHON": sys.executable}

    def start() -> subprocess.Popen:
        return spawn("-c", captain(name, num_nodes=2), log, "bash", script, *words, env=env, stdout=subprocess.PIPE)

    run = start()
    deadline = time.monotonic() + 300
    while not (log.exists() and metrics(log.read_text())):
        assert run.poll() is None and time.monotonic() < deadline, log.exists() and log.read_text()
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(300) == 130, log.read_text()
    first = log.read_text()
    assert 0 < len(metrics(first)) < 6 and "has saved its work" in run.stdout.read()
    assert start().wait(300) == 0
    rest = log.read_text().removeprefix(first)
    assert len(metrics(rest)) == 6 - len(metrics(first))
    check_same_steps(rest, one_host)


def test_under_ray_training_goes_on_by_itself_when_a_node_dies(
    rays_nodes: ray_nodes.Cluster,
    shards: Path,
    megatron: Path,
    tmp_path: Path,
    spawn: Callable[..., subprocess.Popen],
) -> None:
    """From the last checkpoint, on the node that is left."""
    paths = {"dataset_path": shards, "pretrain_checkpoint_path": megatron, "output_basepath": tmp_path / "two"}
    longer = {"train_iters": 40, "save_interval": 5}
    flags = {**FLAGS, **paths, **longer, "host_gpu_num": 1}
    words = [str(word) for flag, value in flags.items() for word in (f"--{flag}", value)]
    script, log = str(ROOT / "training" / "train_idefics2.sh"), tmp_path / "logs" / "train.log"
    env = {**os.environ, "PYTHON": sys.executable}
    run = spawn("-c", captain("ray", num_nodes=2), log, "bash", script, *words, env=env, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not (log.exists() and "saved " in log.read_text()):
        assert run.poll() is None and time.monotonic() < deadline, log.exists() and log.read_text()
        time.sleep(0.05)
    rays_nodes.kill(ray_nodes.NODES[1])
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 0, said
    assert "begun again, on 1 node" in said and len(metrics(log.read_text())) == 40
    check_same_steps(log.read_text(), Run(shards, megatron, tmp_path / "one", tp=1, dp=1, **longer).finish())


def test_this_machine_alone_is_one_node(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="num_nodes=2, but this machine is one; use --executor slurm or ray"):
        load_executor("local").run(Command(["true"], tmp_path / "x.log"), Resources(num_nodes=2))
