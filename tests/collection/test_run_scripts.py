"""OpenWebVoyager's four run scripts under their published names, as typed in their own folders."""

import os
import subprocess
import sys

import pytest

from data.task import read_tasks
from tests.conftest import ROOT

COLLECTION = ROOT / "collection"
VARIABLES = ("TEST_FILE", "OUTPUT_DIR", "API_LOCALHOST", "API_MODEL", "API_BASE", "API_EVAL_MODEL", "PROCESS_DIR")


def script(name: str, *flags: str, **variables: str) -> subprocess.CompletedProcess:
    hidden = (*VARIABLES, "OPENAI_API_KEY", "EVAL_API_KEY")
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    path = COLLECTION / name
    command = ["bash", path.name, *flags]
    environment = {**kept, "PYTHON": sys.executable, **variables}
    return subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=120)


def test_the_example_tasks_are_ours_and_begin_on_public_websites() -> None:
    tasks = read_tasks(COLLECTION / "data_for_test" / "example.jsonl")
    assert len({task.web for task in tasks}) == len(tasks) == 5
    assert all(task.web.startswith("https://") for task in tasks)


@pytest.mark.parametrize("name", ["run_localhost.sh", "run_webvoyager_4o.sh"])
def test_run_scripts_take_the_example_tasks(name: str) -> None:
    done = script(name, "--dry_run")
    assert done.returncode == 0, done.stderr
    assert "Wikipedia" in done.stdout and "embedded" not in done.stderr


def test_exploration_takes_the_embedded_tasks_or_yours() -> None:
    embedded = script("exploration_feedback.sh", "--dry_run")
    assert embedded.returncode == 0 and "no --test_file: the 75 embedded tasks of" in embedded.stderr
    own = script("exploration_feedback.sh", "--dry_run", TEST_FILE="data_for_test/example.jsonl")
    assert own.returncode == 0 and "Wikipedia" in own.stdout and own.stderr == ""


def test_what_must_be_filled_in_is_one_line(tmp_path: os.PathLike) -> None:
    results = {"OUTPUT_DIR": str(tmp_path)}
    nobody = script("run_localhost.sh", API_LOCALHOST="http://127.0.0.1:9/predict", **results)
    assert nobody.returncode == 2 and "nothing answers at http://127.0.0.1:9/predict" in nobody.stderr
    keyless = script("run_webvoyager_4o.sh", **results)
    assert keyless.returncode == 2 and "no API key: set OPENAI_API_KEY" in keyless.stderr
    empty = script("evaluation/run_eval.sh", PROCESS_DIR=str(tmp_path))
    assert empty.returncode == 2 and "holds no complete trajectory" in empty.stderr
    assert not any("Traceback" in done.stderr for done in (nobody, keyless, empty))
