"""The reward model's recipe as a user runs it: trained on judged trajectories, served, and right about others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data.outcome import Outcome, Verdict
from data.task import Task, write_tasks
from data.trajectory import FINISHED, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from tests.conftest import ROOT
from tests.toolkits.trajectories import screenshot

POLICY = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
SMALL = {"TP": "1", "PR": "fp32", "AC": "none", "SEQ_LEN": "1024", "BATCH_SIZE": "4", "GLOBAL_BATCH_SIZE": "4"}
QUICK = {"LR": "1e-3", "TRAIN_EPOCHS": "6", "LR_WARMUP_ITERS": "4", "NUM_WORKERS": "0", "DTYPE": "float32"}


def judged(folder: Path, numbers: range) -> list[Task]:
    """Orders of lamps: those with an even number were placed, as the last page says."""
    tasks = []
    for number in numbers:
        task = Task(f"Shop--{number}", f'order lamp "L{number}"', "http://shop.localhost:7070/")
        last = "Order placed" if number % 2 == 0 else "Sorry, sold out"
        writer = TrajectoryWriter(folder / folder_name(task.id), task, {}, "")
        for step, (heading, action) in enumerate((("Lamps", "Click [2]"), (last, "ANSWER; done")), start=1):
            tree = f"[1] RootWebArea 'Shop'\n\t[2] heading '{heading}'\n\t[3] link 'Lamp L{number}'"
            writer.write_observation(step, tree, None, screenshot(step))
            writer.add_step(TrajectoryStep(step, task.web, f"Thought: I go on.\n\nAction: {action}"), tree)
        writer.finish(FINISHED, answer="done")
        write_outcome(writer.folder, Outcome((Verdict.SUCCESS, Verdict.FAILURE)[number % 2], judge="oracle"))
        tasks.append(task)
    return tasks


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_it_learns_what_success_looks_like(tmp_path: Path) -> None:
    judged(tmp_path / "learn", range(40))
    write_tasks(tmp_path / "tasks.jsonl", judged(tmp_path / "judge", range(100, 110)))
    paths = {"LEARN": tmp_path / "learn", "JUDGE": tmp_path / "judge", "TASKS": tmp_path / "tasks.jsonl"}
    environment = {**os.environ, **SMALL, **QUICK, **{name: str(path) for name, path in paths.items()}}
    environment |= {"POLICY": str(POLICY), "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    command = ["bash", str(ROOT / "examples" / "reward_model" / "run.sh"), str(tmp_path / "out")]
    for _ in range(2):  # the second time everything is there already
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert table["num_compared"] == 10 and table["agreement"] >= 0.9, table
