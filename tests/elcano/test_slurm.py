"""The SLURM executor on a real cluster of two nodes on this machine: commands, services, and all that goes wrong."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.errors import UserError
from common.files import read_json
from data.task import read_tasks, write_tasks
from elcano.executors.executor import ADDRESS as STANDS_FOR_ADDRESS
from elcano.executors.executor import Command, load_executor
from elcano.resources import Resources
from tests.conftest import ROOT
from tests.elcano.captain import SERVES, captain
from tests.elcano.slurm_cluster import ADDRESS, MISSING, NODES, Cluster, cluster
from tests.elcano.test_moved_run import RECIPE
from tests.elcano.test_stage import SLOW_TO_END
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(MISSING) or os.geteuid() != 0, reason=f"no SLURM here, or not root: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.fixture
def start(slurm: Cluster, spawn: Callable[..., subprocess.Popen]) -> Callable[..., subprocess.Popen]:
    """A run of one command in a process of its own."""

    def begin(log: Path, *words: object) -> subprocess.Popen:
        return spawn("-c", captain("slurm"), log, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return begin


def states(slurm: Cluster) -> list[str]:
    return slurm.said("squeue", "--noheader", "--format=%T").split()


def preempt(slurm: Cluster) -> None:
    """Somebody needs all nodes, for a moment."""
    slurm.said("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=true")


def test_a_command_runs_as_a_person_would_submit_it(slurm: Cluster, tmp_path: Path) -> None:
    log = tmp_path / "50% of a run" / "logs" / "x.log"
    script = (
        "import os; print(os.getcwd(), os.environ['NAME'], os.environ['OMP_NUM_THREADS'], os.environ['SLURM_JOB_ID'])"
    )
    command = Command([sys.executable, "-c", script], log, {"NAME": "a 'b' $c"})
    load_executor("slurm").run(command, Resources(num_cores=2, memory_gib=1, time_h=0.5))
    typed, said = log.read_text().splitlines()
    assert typed.startswith("$ NAME=")
    assert re.fullmatch(re.escape(f"{ROOT} a 'b' $c 2 ") + r"(\d+)", said)
    job = slurm.said("scontrol", "show", "job", "--oneliner", said.split()[-1])
    assert all(f" {found} " in job for found in ("NumCPUs=2", "TimeLimit=00:30:00", "MinMemoryNode=1G", "Requeue=0"))
    assert "Submitted batch job" in slurm.said("sbatch", str(log.with_suffix(".sbatch")))
    wait_until(lambda: len(log.read_text().splitlines()) == 3)


def test_a_failure_is_one_line_with_the_commands_last_words(slurm: Cluster, tmp_path: Path) -> None:
    command = Command(["bash", "-c", "echo error: no such shards; exit 7"], tmp_path / "x.log")
    with pytest.raises(UserError, match=r"ended with code 7: no such shards \(log: .*x\.log\)"):
        load_executor("slurm").run(command)


@pytest.mark.parametrize(
    "needs, says",
    [
        (Resources(partition="nowhere"), "invalid partition specified: nowhere"),
        (Resources(num_cores=99), "would never start: PartitionConfig"),
        (Resources(num_gpus=1), "generic resource"),
        (Resources(memory_gib=999), "Memory specification can not be satisfied"),
        (Resources(time_h=100), "would never start: PartitionTimeLimit"),
    ],
)
def test_what_the_cluster_cannot_give_is_one_line(needs: Resources, says: str, slurm: Cluster, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=says) as refused:
        load_executor("slurm").run(Command(["true"], tmp_path / "x.log"), needs)
    assert "\n" not in str(refused.value)
    wait_until(lambda: not states(slurm))


def test_an_interrupted_command_may_save_what_it_has(slurm: Cluster, start: Callable, tmp_path: Path) -> None:
    saved, begun = tmp_path / "saved", tmp_path / "begun"
    run = start(tmp_path / "x.log", sys.executable, "-c", SLOW_TO_END, saved, begun)
    wait_until(begun.exists)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(60) == 130
    assert saved.read_text() == "saved" and "has saved its work" in run.stdout.read()
    wait_until(lambda: not states(slurm))


def test_a_job_is_found_again_by_the_next_start(slurm: Cluster, start: Callable, tmp_path: Path) -> None:
    """It is waited for where it does the same, else ended; never is it run twice."""
    log, begun, go = tmp_path / "x.log", tmp_path / "begun", tmp_path / "go"
    words = ["bash", "-c", f"echo once >> {begun}; until [ -e {go} ]; do sleep 0.2; done"]
    run = start(log, *words)
    wait_until(begun.exists)
    run.kill()
    run.wait()
    run = start(log, *words)
    time.sleep(3)
    assert states(slurm) == ["RUNNING"]
    go.touch()
    assert run.wait(60) == 0 and "of an earlier start does this already" in run.stdout.read()
    assert begun.read_text() == "once\n"

    go.unlink()
    run = start(log, *words)
    wait_until(lambda: begun.read_text() == "once\n" * 2)
    run.kill()
    run = start(log, "echo", "another", "way")
    assert run.wait(60) == 0 and "ending it" in run.stdout.read()
    assert log.read_text().endswith("another way\n") and not states(slurm)


def test_a_controller_that_is_away_is_waited_for(slurm: Cluster, start: Callable, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    run = start(tmp_path / "x.log", "bash", "-c", f"touch {begun}; until [ -e {go} ]; do sleep 0.2; done")
    wait_until(begun.exists)
    slurm.stop_controller()
    time.sleep(5)
    slurm.start_controller()
    go.touch()
    assert run.wait(120) == 0, run.stderr.read()


def test_a_job_that_gave_way_is_told_and_continues(slurm: Cluster, start: Callable, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    run = start(tmp_path / "x.log", "bash", "-c", f"[ -e {begun} ] && exit; touch {begun}; sleep 60")
    wait_until(begun.exists)
    preempt(slurm)
    assert run.wait(90) == 2
    said = run.stderr.read()
    assert re.search(r"was ended by SLURM: job \d+ is PREEMPTED .*; the same command continues", said), said
    assert said.count("error: ") == 1
    assert start(tmp_path / "x.log", "bash", "-c", f"[ -e {begun} ] && exit; touch {begun}; sleep 60").wait(60) == 0


def test_a_service_answers_at_its_nodes_address_and_ends_with_the_block(slurm: Cluster, tmp_path: Path) -> None:
    log, executor = tmp_path / "IL" / "logs" / "server.log", load_executor("slurm")

    def command(host: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, host, str(port)], log)

    with executor.service(command, "/README.md") as url:
        assert url.startswith(f"http://{ADDRESS}:")
        assert urllib.request.urlopen(f"{url}/README.md").status == 200
        assert states(slurm) == ["RUNNING"]
        assert STANDS_FOR_ADDRESS in log.with_suffix(".sbatch").read_text()
    assert not states(slurm)
    with (
        pytest.raises(UserError, match=r"a service ended with code 1: .*refused.* \(log"),
        executor.service(lambda host, port: Command(["bash", "-c", "echo error: refused; exit 1"], log), "/"),
    ):
        pass


def test_what_uses_a_service_on_loopback_runs_beside_it(slurm: Cluster, tmp_path: Path) -> None:
    executor = load_executor("slurm")

    def command(_: str, port: int) -> Command:
        return Command([sys.executable, "-c", SERVES, "127.0.0.1", str(port)], tmp_path / "s.log")

    def node(name: str) -> str:
        log = tmp_path / f"{name}.log"
        executor.run(Command(["bash", "-c", "echo $SLURMD_NODENAME"], log))
        return log.read_text().splitlines()[-1]

    with executor.service(command, "/README.md") as url:
        assert url.startswith("http://127.0.0.1:") and node("beside") == NODES[0]
    assert "nodelist" not in (tmp_path / "s.sbatch").read_text() or node("after") in NODES
    assert "nodelist" not in (tmp_path / "after.sbatch").read_text()


def test_services_that_a_killed_run_left_are_ended(slurm: Cluster, spawn: Callable, tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from elcano.executors.executor import load_executor; from elcano.stages.services import embedded_teacher\n"
        "with embedded_teacher(load_executor('slurm'), Path(sys.argv[1])) as url:\n"
        "    print(url, flush=True); time.sleep(float(sys.argv[2]))\n"
    )
    left = spawn("-c", script, tmp_path / "teacher.log", 60, stdout=subprocess.PIPE)
    while "http" not in left.stdout.readline():
        assert left.poll() is None
    left.kill()
    assert states(slurm) == ["RUNNING"]
    again = spawn("-c", script, tmp_path / "teacher.log", 0, stdout=subprocess.PIPE)
    said = again.communicate(timeout=120)[0]
    assert again.returncode == 0 and "ending what an earlier start left running" in said
    assert not states(slurm)


def test_a_node_that_dies_is_told_and_the_next_start_continues(slurm: Cluster, start: Callable, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    words = ["bash", "-c", f"[ -e {begun} ] && exit; echo $SLURMD_NODENAME > {begun}; sleep 200"]
    run = start(tmp_path / "x.log", *words)
    wait_until(lambda: begun.exists() and begun.read_text())
    node = begun.read_text().strip()
    slurm.kill_node(node)
    try:
        assert run.wait(180) == 2
        said = run.stderr.read()
        assert "was ended by SLURM: job " in said and f"is NODE_FAIL on {node}" in said.replace(" (NodeDown)", ""), said
        assert said.count("error: ") == 1
        assert start(tmp_path / "x.log", *words).wait(60) == 0
    finally:
        slurm.start_node(node)


def test_a_whole_run_preempted_in_training_ends_as_on_this_machine(
    slurm: Cluster, spawn: Callable, tmp_path: Path
) -> None:
    """The same weights, byte for byte, and the same success."""
    for split in ("IL", "test"):
        tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / f"{split}.jsonl") if "price" in task.id][:2]
        write_tasks(tmp_path / f"{split}.jsonl", tasks)
    (tmp_path / "recipe.py").write_text(RECIPE.replace("HERE.parent", f"Path({str(ROOT)!r})"))

    def run(executor: str) -> subprocess.Popen:
        words = ["run", tmp_path / "recipe.py", "--output_dir", tmp_path / executor, "--executor", executor]
        return spawn("-m", "elcano.cli", *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    assert run("local").wait(600) == 0
    begun = run("slurm")
    checkpoints = tmp_path / "slurm" / "IL" / "training" / "checkpoint" / "IL"
    wait_until((checkpoints / "latest_checkpointed_iteration.txt").exists, 400)
    preempt(slurm)
    assert begun.wait(120) == 2 and "PREEMPTED" in begun.stderr.read()
    saved = int((checkpoints / "latest_checkpointed_iteration.txt").read_text())
    assert run("slurm").wait(600) == 0
    said = (tmp_path / "slurm" / "IL" / "logs" / "train.log").read_text().rpartition("training/train.sh")[2]
    steps = [int(step) for step in re.findall(r"iteration (\d+)/30", said)]
    assert (steps[0], steps[-1]) == (saved + 1, 30)

    here, there = (read_json(tmp_path / name / "summary.json")["rounds"] for name in ("local", "slurm"))
    assert here == there and [result["num_tasks"] for result in here] == [2, 2]
    files = sorted(path.relative_to(tmp_path / "local") for path in (tmp_path / "local" / "IL" / "policy").iterdir())
    weights = [path for path in files if path.suffix == ".safetensors"]
    assert weights
    for path in weights:
        assert (tmp_path / "local" / path).read_bytes() == (tmp_path / "slurm" / path).read_bytes(), path
    assert not states(slurm)
