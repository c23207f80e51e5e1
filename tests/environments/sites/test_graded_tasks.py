"""Tasks of graded difficulty: the sites' oracle knows them, and the teacher needs as many steps as the level says."""

import json
import re
import subprocess
import sys

import pytest

from data.task import read_tasks
from environments.sites.content import build
from environments.sites.ground_truth import ground_truth
from environments.sites.truth import InfeasibleError
from tests.conftest import ROOT

TASKS = ROOT / "data" / "tasks"


def test_the_oracle_says_of_every_shipped_task_what_its_file_says():
    world = build(0)
    for file in TASKS.rglob("*.jsonl"):
        for task in read_tasks(file):
            truth = ground_truth(world, task.ques)
            split = "IL" if file.stem == "IL-2" or file.parent.name == "voyage" else file.stem
            assert (truth.eval, truth.split) == (task.eval, split)


@pytest.mark.parametrize(
    ("ques", "complaint"),
    [
        ('find the price of "Nowhere Falcon".', "no product"),
        ('go to "Garden", then "Lamps", and name the product with the lowest price.', "no category"),
        ("Book me a flight to Rome.", "worded in no way"),
        ('travel on the train "X 1": book a seat for "A" and choose "First".', "no train"),
    ],
)
def test_what_cannot_be_done_is_said(ques, complaint):
    with pytest.raises(InfeasibleError, match=complaint):
        ground_truth(build(0), ques)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_teacher_needs_as_many_steps_as_the_level(spawn, tmp_path):
    tasks = [task for task in read_tasks(TASKS / "graded" / "test.jsonl") if task.id.endswith("--002")]
    assert len(tasks) == 8
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task.to_json()) + "\n" for task in tasks))
    ports = {}
    for name, command in (
        ("sites", ("-m", "environments.sites")),
        ("teacher", ("environments/sites/expert/server.py",)),
    ):
        child = spawn(*command, "--port", 0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ports[name] = re.search(r":(\d+)/", child.stdout.readline())[1]
    command = [sys.executable, "collection/run.py", "--test_file", tmp_path / "tasks.jsonl", "--headless"]
    command += ["--output_dir", tmp_path / "out", "--download_dir", tmp_path / "downloads", "--judge", "oracle"]
    command += ["--api_base", f"http://127.0.0.1:{ports['teacher']}/v1", "--api_model", "teacher", "--api_key", "none"]
    command += ["--sites_port", ports["sites"], "--max_iter", 10, "--num_sessions", 2]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    for task in tasks:
        folder = tmp_path / "out" / f"task{task.id}"
        assert json.loads((folder / "outcome.json").read_text())["verdict"] == "success", task.id
        assert json.loads((folder / "trajectory.json").read_text())["num_steps"] == int(task.domain[-1]), task.id
    assert "Level-8" in done.stdout  # the table by domain is the table by level
