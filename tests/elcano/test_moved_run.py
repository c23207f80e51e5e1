"""A run that was killed in the middle of training, moved together with its checkout, goes on where it stood."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from data.task import read_tasks, write_tasks
from tests.conftest import ROOT

ROOMS = ("common", "data", "environments", "models", "collection", "server", "training", "toolkits", "elcano")
WEIGHTS = Path("examples", "quickstart", "starting_policy", "weights")
RECIPE = """
from pathlib import Path
from collection.config.commands import ExplorationConfig, RunConfig
from elcano.recipe import Recipe, Round
from server.config import ServerConfig
from training.options import TrainingOptions

HERE = Path(__file__).resolve().parent
BROWSING = {"max_iter": 3, "num_sessions": 2, "judge": "oracle"}

def recipe():
    return Recipe(
        name="moved",
        starting_policy=HERE.parent / "examples" / "quickstart" / "starting_policy" / "weights",
        test_tasks=HERE / "test.jsonl",
        rounds=[Round("IL", HERE / "IL.jsonl", agent="teacher")],
        teacher=ExplorationConfig(**BROWSING),
        testing=RunConfig(**BROWSING),
        serving=ServerConfig(max_new_tokens=40),
        training=TrainingOptions(  # adapters also name the weights that they stand on
            tp=1, pr="fp32", ac="none", seq_len=2048, global_batch_size=2, lr=1e-4, lora_rank=4,
            train_iters=30, save_interval=2, num_workers=0, keep_last=2, pad_to_longest=True,
        ),
    )
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the rooms with a recipe and two tasks of each kind."""
    folder = tmp_path / "first"
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / WEIGHTS, folder / WEIGHTS)
    (folder / "mine").mkdir()
    (folder / "mine" / "recipe.py").write_text(RECIPE)
    for split in ("IL", "test"):
        tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / f"{split}.jsonl") if "price" in task.id][:2]
        write_tasks(folder / "mine" / f"{split}.jsonl", tasks)
    return folder


def start(checkout: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "elcano.cli", "run", "mine/recipe.py", "--output_dir", "mine/run"]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHON": sys.executable}
    with open(checkout / "log.txt", "a") as log:
        return subprocess.Popen(
            command, cwd=checkout, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def is_note(path: Path) -> bool:
    """What people read; and torch notes in its metadata where a checkpoint was written, and never looks there again."""
    return path.parent.name == "logs" or "log" in path.parts or path.name == ".metadata"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_moves_with_its_checkout(checkout: Path) -> None:
    process = start(checkout)
    saved = checkout / "mine" / "run" / "IL" / "training" / "checkpoint" / "IL" / "latest_checkpointed_iteration.txt"
    try:
        while not saved.exists():
            assert process.poll() is None, (checkout / "log.txt").read_text()
            time.sleep(0.2)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    time.sleep(2)  # what it had started ends with it
    iteration = int(saved.read_text())
    assert iteration < 30

    moved = checkout.with_name("second")
    checkout.rename(moved)
    files = [path for path in (moved / "mine" / "run").rglob("*") if path.is_file() and not is_note(path)]
    assert len(files) > 50
    assert [path for path in files if str(checkout).encode() in path.read_bytes()] == []
    assert not [path for path in (moved / "mine" / "run").rglob("*") if path.is_symlink()]

    process = start(moved)
    try:
        assert process.wait(900) == 0, (moved / "log.txt").read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    log = (moved / "mine" / "run" / "IL" / "logs" / "train.log").read_text()
    steps = re.findall(r"iteration (\d+)/30", log.rpartition("training/train.sh")[2])
    assert int(steps[0]) == iteration + 1 and int(steps[-1]) == 30
    assert (moved / "log.txt").read_text().count("done before") >= 3  # untrained test, exploration, samples, ...
    summary = json.loads((moved / "mine" / "run" / "summary.json").read_text())
    assert [result["name"] for result in summary["rounds"]] == ["untrained", "IL"]
    assert not checkout.exists()
