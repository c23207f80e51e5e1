"""A small run, killed with SIGKILL: it arrives, nothing lost, doubled or running on.

Of one round, killed in its training, and of two, killed in stage after stage."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from data.task import read_tasks, write_tasks
from data.trajectory import is_complete, list_trajectories

ROOT = Path(__file__).resolve().parent.parent.parent
MARK = "ELCANO_TEST_RUN"
STAGES = ("untrained/test", "IL/explore", "IL/train", "optim-1/explore", "optim-1/mg2hf")
KILLED_IN = [(1, ("IL/train",)), (2, STAGES)]

RECIPE = """
from pathlib import Path
from collection.config.commands import ExplorationConfig, RunConfig
from elcano.recipe import Recipe, Round
from elcano.resources import Needs, Resources
from server.config import ServerConfig
from training.options import TrainingOptions

HERE = Path(__file__).parent
BROWSING = {{"max_iter": 3, "num_sessions": 3, "judge": "oracle"}}

def recipe():
    return Recipe(
        name="small",
        starting_policy=Path({weights!r}),
        test_tasks=HERE / "test.jsonl",
        rounds=[
            Round("IL", HERE / "IL.jsonl", agent="teacher"),
            Round("optim-1", HERE / "optim-1.jsonl", agent="policy"),
        ][:{num_rounds}],
        overlap=True,
        teacher=ExplorationConfig(**BROWSING),
        exploration=ExplorationConfig(**BROWSING, max_rerun_times=2, temperature=1.2),
        testing=RunConfig(**BROWSING),
        serving=ServerConfig(max_batch_size=8, max_new_tokens=60),
        training=TrainingOptions(
            tp=1, pr="fp32", ac="none", seq_len=2048, batch_size=2, global_batch_size=4, lr=1e-4,
            train_iters=8, save_interval=2, num_workers=0,
        ),
        needs=Needs(serving=Resources(num_cores=1)),
    )
"""


@pytest.fixture
def recipe(tmp_path: Path, num_rounds: int) -> Path:
    """A recipe with three of the shipped tasks, all solved by the teacher within three steps."""
    for split in ("IL", "optim-1", "test"):
        tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / f"{split}.jsonl") if "price" in task.id][:3]
        write_tasks(tmp_path / f"{split}.jsonl", tasks)
    path = tmp_path / "recipe.py"
    weights = str(ROOT / "examples" / "quickstart" / "starting_policy" / "weights")
    path.write_text(RECIPE.format(weights=weights, num_rounds=num_rounds))
    return path


def _start(recipe: Path, run_dir: Path, log: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "elcano.cli", "run", str(recipe), "--output_dir", str(run_dir)]
    environment = {**os.environ, MARK: str(log)}
    with open(log, "w") as output:
        return subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )


def _wait_for(stage: str, log: Path, run_dir: Path, process: subprocess.Popen) -> None:
    """Until the stage is under way: for browsing, until a trajectory has begun."""
    deadline = time.monotonic() + 600
    name, kind = stage.split("/")
    folder = run_dir / name / {"explore": "trajectories", "test": "test"}.get(kind, "logs")
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        if f"▶ {stage}" in log.read_text() and folder.is_dir() and any(folder.iterdir()):
            time.sleep(2)
            return
        time.sleep(0.1)
    pytest.fail(f"{stage} did not begin:\n{log.read_text()}")


def _left_running(mark: str) -> list[str]:
    """Command lines of the processes, by the mark in their environment, that a run left behind."""
    left = []
    for process in psutil.process_iter(["cmdline", "status"]):
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.info["status"] != psutil.STATUS_ZOMBIE:
                left.append(" ".join(process.info["cmdline"])[:100])
    return left


@pytest.mark.timeout(2700)
@pytest.mark.slow
@pytest.mark.parametrize(("num_rounds", "killed_in"), KILLED_IN)
def test_a_run_killed_in_stage_after_stage_arrives(
    recipe: Path, tmp_path: Path, num_rounds: int, killed_in: tuple[str, ...]
) -> None:
    run_dir, log = tmp_path / "run", tmp_path / "log.txt"
    for stage in killed_in:
        process = _start(recipe, run_dir, log)
        try:
            _wait_for(stage, log, run_dir, process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        deadline = time.monotonic() + 15
        while (left := _left_running(str(log))) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not left, f"still running after a kill in {stage}: {left}"
    process = _start(recipe, run_dir, log)
    try:
        assert process.wait(900) == 0, log.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    summary = json.loads((run_dir / "summary.json").read_text())
    learned = ["IL", "optim-1"][:num_rounds]
    assert [result["name"] for result in summary["rounds"]] == ["untrained", *learned]
    assert all(result["num_tasks"] == 3 and result["num_invalid"] == 0 for result in summary["rounds"])
    assert (run_dir / "success.png").stat().st_size > 10_000
    for folder, split in (("untrained/test", "test"), ("IL/trajectories", "IL"), (f"{learned[-1]}/test", "test")):
        expected = sorted(f"task{task.id}" for task in read_tasks(recipe.with_name(f"{split}.jsonl")))
        found = list_trajectories(run_dir / folder)
        assert [path.name for path in found] == expected
        assert all(is_complete(path) for path in found)
    samples = json.loads((run_dir / "IL" / "samples.json").read_text())
    assert len({sample["id"] for sample in samples}) == len(samples) >= 3
