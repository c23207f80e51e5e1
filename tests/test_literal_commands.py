"""The commands exactly as people type them: a fresh clone, each in its own folder, nothing set."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.trajectory import is_complete
from tests.conftest import ROOT, in_foreground
from training.config import Config

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
PREDICT = "http://localhost:8080/predict"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed, with this virtual environment as its `.venv`."""
    folder = tmp_path_factory.mktemp("fresh") / "elcano"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    return folder


def environment(clone: Path) -> dict[str, str]:
    """As after `source .venv/bin/activate`; PYTHONPATH stands for the clone's own editable install."""
    options = {name.upper() for name in Config.__dataclass_fields__} | {"PYTHON", "OPENAI_API_KEY", "DISPLAY"}
    kept = {name: value for name, value in os.environ.items() if name not in options}
    path = f"{clone}/.venv/bin:{kept['PATH']}"
    return {**kept, "PATH": path, "VIRTUAL_ENV": f"{clone}/.venv", "PYTHONPATH": str(clone)}


def type_in(clone: Path, folder: str, command: str) -> subprocess.Popen:
    return subprocess.Popen(
        command.split(),
        cwd=clone / folder,
        env=environment(clone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=in_foreground,
    )


@pytest.fixture(scope="module")
def server(clone: Path) -> Iterator[subprocess.Popen]:
    yield from serve(clone, "python hf_online_server.py --port 8080")


def serve(clone: Path, command: str) -> Iterator[subprocess.Popen]:
    """Until it says that it serves; ended at the end."""
    process = type_in(clone, "server", command)
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("serving "):
            break
    assert "serving " in said, said
    process.said = said
    yield process
    process.terminate()
    assert process.wait(timeout=120) == 0


def test_the_server_takes_the_starting_policy(server: subprocess.Popen) -> None:
    assert "no --model_name_or_path: taking the starting policy" in server.said


def test_run_py_browses_the_embedded_tasks_and_ends_cleanly(clone: Path, server: subprocess.Popen) -> None:
    """Interrupted after three tasks, it leaves their trajectories; the same command goes on."""
    run = type_in(clone, "collection", f"python run.py --api_localhost {PREDICT}")
    results = clone / "collection" / "results"
    deadline = time.monotonic() + 900
    while sum(is_complete(folder) for folder in results.glob("task*")) < 3:
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=120)[0]
    assert run.returncode == 130 and "Traceback" not in said
    assert "no --test_file: the 75 embedded tasks of" in said and "no display: browsers run as with --headless" in said
    [port] = re.findall(r"their websites on port (\d+)", said)
    assert subprocess.run(["curl", "-s", f"http://localhost:{port}/"]).returncode == 7  # nobody listens there any more
    shutil.rmtree(results)


def test_training_ends_in_a_checkpoint_that_is_served(clone: Path) -> None:
    train = type_in(clone, "training", "bash train_idefics2.sh")
    said = train.communicate(timeout=1800)[0]
    assert train.returncode == 0, said
    assert said.startswith("neither DATASET_PATH nor PRETRAIN_CHECKPOINT_PATH is set: a demonstration")
    losses = [float(loss) for loss in re.findall(r"iteration \d+/40 \| loss (\S+)", said)]
    assert len(losses) == 40 and losses[-1] < losses[0] / 4
    last = said.splitlines()[-1]
    assert "train your own: DATASET_PATH=SHARDS PRETRAIN_CHECKPOINT_PATH=MEGATRON_DIR" in last
    [policy] = re.findall(r"trained checkpoint: (\S+);", last)
    policy = (clone / "training" / policy).resolve()
    [_] = serve(clone, f"python hf_online_server.py --port 0 --model_name_or_path {policy}")
    again = type_in(clone, "training", "bash train_idefics2.sh").communicate(timeout=600)[0]
    assert "complete" in again and again.splitlines()[-1] == last  # nothing is done twice
    status = subprocess.run(["git", "status", "--short"], cwd=clone, capture_output=True, text=True).stdout
    assert status.split() in ([], ["??", ".venv"])  # the shipped data set is only read


def test_converters_say_what_is_missing(clone: Path) -> None:
    folder = "toolkits/model_checkpoints_convertor/idefics2"
    for name in ("hf2mg.sh", "mg2hf.sh"):
        done = type_in(clone, folder, f"bash {name}")
        [line] = done.communicate(timeout=120)[0].splitlines()
        assert done.returncode == 2 and f"bash {clone}/{folder}/{name} --load_path" in line
