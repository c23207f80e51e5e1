"""The sbatch file of a command, without SLURM: what it says, and that it does what the local executor does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from elcano.executors.executor import ADDRESS, Command
from elcano.resources import ANY, Resources
from elcano.slurm import jobs
from elcano.slurm.batch_file import batch_file, job_name
from tests.conftest import ROOT

SAYS = "import os, sys; print(sys.argv[1:], os.environ['NAME'], os.environ.get('OMP_NUM_THREADS'), sep='|')"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PARTITION", "ACCOUNT", "QOS", "TIMELIMIT"):
        monkeypatch.delenv(f"SBATCH_{name}", raising=False)


def asked(text: str) -> dict[str, str]:
    """The file's options."""
    lines = [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH ")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def test_it_asks_for_what_the_recipe_and_the_person_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "IL" / "logs" / "train.log"
    command = Command(["bash", "training/train.sh"], log)
    needs = Resources(num_gpus=8, num_cores=32, memory_gib=200, time_h=1.5, partition="gpu")
    monkeypatch.setenv("SBATCH_PARTITION", "cpu")
    monkeypatch.setenv("SBATCH_ACCOUNT", "vision")
    found = asked(batch_file(command, needs))
    expected = {"gpus-per-node": "8", "cpus-per-task": "32", "mem": "200G", "time": "90", "partition": "gpu"}
    assert found.items() >= {**expected, "account": "vision", "output": str(log), "chdir": str(ROOT)}.items()
    found = asked(batch_file(command, ANY))
    assert found["partition"] == "cpu" and found["nodes"] == "1"
    assert not found.keys() & {"gpus-per-node", "cpus-per-task", "mem", "time", "nodelist"}
    assert asked(batch_file(command, ANY, "n7"))["nodelist"] == "n7"


def test_a_time_of_less_than_a_minute_is_no_time_without_end(tmp_path: Path) -> None:
    for hours, minutes in ((1e-5, "1"), (1.01, "61"), (2.3, "138")):
        assert asked(batch_file(Command(["true"], tmp_path / "x.log"), Resources(time_h=hours)))["time"] == minutes


def test_it_is_a_script_that_does_the_same(tmp_path: Path) -> None:
    words = ["a b", "", 'x"y$HOME', "it's", "*", "NODE_ADDRESS"]
    command = Command([sys.executable, "-c", SAYS, *words], tmp_path / "x.log", {"NAME": "two 'words'"})
    file = tmp_path / "x.sbatch"
    file.write_text(batch_file(command, Resources(num_cores=3)))
    done = subprocess.run(["bash", file], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == f"{words}|two 'words'|3\n", done.stderr


def test_a_folder_of_any_name_is_one_value_and_a_line_break_is_refused(tmp_path: Path) -> None:
    for name, written in (("it#1", '"{}"'), ("it's", '"{}"'), ("a b", '"{}"'), ("plain-1_2", "{}")):
        log = tmp_path / name / "x.log"
        assert asked(batch_file(Command(["true"], log), ANY))["output"] == written.format(log)
    log = tmp_path / 'a"b' / "x.log"
    assert asked(batch_file(Command(["true"], log), ANY))["output"] == f'"{tmp_path}/a\\"b/x.log"'
    with pytest.raises(UserError, match=r"no log below a folder with a backslash in its name .*; give another"):
        batch_file(Command(["true"], tmp_path / "a\\b" / "x.log"), ANY)
    with pytest.raises(UserError, match="no sbatch file can hold"):
        batch_file(Command(["true"], tmp_path / "a\nb" / "x.log"), ANY)


def test_variables_that_sbatch_prefers_to_the_file_stay_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = tmp_path / "heard"
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f"#!/bin/bash\nenv > {heard}\necho 7\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("SBATCH_EXPORT", "SBATCH_JOB_NAME", "SBATCH_PARTITION", "SLURM_EXPORT_ENV", "SBATCH_RESERVATION"):
        monkeypatch.setenv(name, "NONE")
    assert jobs.submit(tmp_path / "x.sbatch", {"KEY": "k"}) == "7"
    own = dict(line.split("=", 1) for line in heard.read_text().splitlines() if "=" in line)
    assert own["KEY"] == "k" and [name for name in own if name.startswith(("SBATCH_", "SLURM_"))] == [
        "SBATCH_RESERVATION"
    ]


def test_of_several_nodes_each_learns_its_number(tmp_path: Path) -> None:
    """With stand-ins for what SLURM sets, and for `srun`, which begins the command on each."""
    command = Command([sys.executable, "-c", SAYS.replace("NAME", "INDEX"), "a b", "$HOME"], tmp_path / "x.log")
    text = batch_file(command, Resources(num_nodes=2))
    assert asked(text).items() >= {"nodes": "2", "ntasks-per-node": "1"}.items()
    assert "export CHIEF_IP=$(scontrol " in text and "HOST_NUM=$SLURM_NNODES" in text
    begins = 'srun() { [ "$2" = --cpus-per-task=4 ] && shift 2 && "$@"; }\n' + text[text.index("trap ") :]
    environment = {**os.environ, "SLURM_NODEID": "1", "SLURM_CPUS_PER_TASK": "4", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(["bash", "-c", begins], capture_output=True, text=True, env=environment)
    assert done.stdout == "['a b', '$HOME']|1|1\n", done.stderr


def test_a_service_learns_its_address_on_its_node(tmp_path: Path) -> None:
    command = Command([sys.executable, "-c", SAYS, "--host", ADDRESS, f"http://{ADDRESS}:1/a b"], tmp_path / "x.log")
    assert command.listens_on_node and not Command(["sites", "--port", "7070"], tmp_path / "x.log").listens_on_node
    *_, asks, begins = batch_file(command, ANY).splitlines()
    assert asks.startswith(f'{ADDRESS}=$(scontrol show node --oneliner "$SLURMD_NODENAME"')
    environment = {**os.environ, ADDRESS: "10.0.0.7", "NAME": ""}
    done = subprocess.run(["bash", "-c", begins], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith("['--host', '10.0.0.7', 'http://10.0.0.7:1/a b']|"), done.stderr


def test_names_tell_runs_and_rounds_apart(tmp_path: Path) -> None:
    logs = [tmp_path / run / name / "logs" / "train.log" for run in ("a", "b") for name in ("IL", "optim-1")]
    names = [job_name(log) for log in logs]
    assert len(set(names)) == 4 and names[0].startswith("train-IL-elcano-")
    assert job_name(logs[0].with_name("test.log"))[-19:] == names[0][-19:]


def test_without_slurm_it_is_said_in_one_line(tmp_path: Path) -> None:
    recipe = ROOT / "examples" / "quickstart" / "recipe.py"
    words = ["run", recipe, "--executor", "slurm", "--output_dir", tmp_path / "run"]
    done = subprocess.run(
        [sys.executable, "-m", "elcano.cli", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --executor slurm: no sbatch on this machine; start the run where SLURM's commands are\n"
    )
    assert not (tmp_path / "run").exists()
