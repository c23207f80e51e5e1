"""A round with an algorithm, small: from rollouts over candidates, a critic and columns to a tested policy; killed in
stage after stage the same columns and the same weights come of the same rollouts."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import parquet
from safetensors.numpy import load_file

from data.shards.columns import read_record
from data.task import read_tasks, write_tasks
from tests.conftest import ROOT

RECIPE = """
import dataclasses
from pathlib import Path
from collection.config.commands import CandidatesConfig, ExplorationConfig, RunConfig
from elcano.recipe import Recipe, Round
from elcano.resources import Needs, Resources
from server.config import ServerConfig
from training.options import TrainingOptions

HERE = Path(__file__).parent
BROWSING = {{"max_iter": 3, "num_sessions": 2}}

def recipe():
    training = TrainingOptions(
        tp=2, pr="fp32", ac="none", seq_len=2048, batch_size=2, global_batch_size=4, lr=1e-4, train_iters=4,
        save_interval=1, num_workers=0, {training}
    )
    return Recipe(
        name="small",
        starting_policy=Path({weights!r}),
        test_tasks=HERE / "tasks.jsonl",
        rounds=[Round("one", HERE / "tasks.jsonl", agent="policy", training=training, {round})],
        exploration=ExplorationConfig(
            **BROWSING, judge="finished", eval_noise=0.4, max_rerun_times=3, all_tries=True, temperature=1.0, top_k=0
        ),
        testing=RunConfig(**BROWSING, judge="oracle"),
        serving=ServerConfig(dtype="float32", max_batch_size=8, max_new_tokens=60),
        needs=Needs(serving=Resources(num_cores=1)),
    )
"""
WEIGHTS = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
DIGIQ = (  # features of the policy itself: a representation needs actions that change a screen, which it has none of
    'algorithm="digiq", algorithm_options="threshold=-1"',
    'critic="td", candidates=CandidatesConfig(num_candidates=3)',
)
CASES = {
    "digiq": (DIGIQ, ("candidates", "columns", "train")),
    "webrl": (('algorithm="webrl"', ""), ("columns", "train")),
    "webrl by heads": (('algorithm="webrl"', 'critic="heads"'), ("columns", "train")),
    "grpo": (('algorithm="grpo", algorithm_options="ratio=decoupled"', ""), ("columns",)),
}


def start(recipe: Path, run_dir: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "elcano.cli", "run", str(recipe), "--output_dir", str(run_dir)]
    with open(run_dir.with_suffix(".log"), "a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def finish(recipe: Path, run_dir: Path) -> None:
    process = start(recipe, run_dir)
    try:
        assert process.wait(900) == 0, run_dir.with_suffix(".log").read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", CASES)
def test_the_same_policy_comes_of_the_same_rollouts_however_often_it_is_killed(name: str, tmp_path: Path) -> None:
    (training, round), stages = CASES[name]
    tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / "optim-1.jsonl") if "price" in task.id][:3]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    recipe, whole, killed = tmp_path / "recipe.py", tmp_path / "whole", tmp_path / "killed"
    recipe.write_text(RECIPE.format(weights=str(WEIGHTS), training=training, round=round))
    finish(recipe, whole)
    summary = json.loads((whole / "summary.json").read_text())
    assert [result["name"] for result in summary["rounds"]] == ["start", "one"]

    shutil.copytree(whole, killed)
    for path in (*killed.glob("stages/*"), *killed.glob("one/*")):
        kept = (
            "start.test",
            "one.explore",
            "one.select",
            "one.pack.json",
            "trajectories",
            "images",
            "samples",
            "shards",
        )
        if not path.name.startswith(kept):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    log = killed.with_suffix(".log")
    for stage in stages:
        process, deadline = start(recipe, killed), time.monotonic() + 300
        while f"▶ one/{stage}" not in log.read_text() and time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        time.sleep(6)  # well into it
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.write_text("")
    finish(recipe, killed)

    for path in sorted(whole.glob("one/**/*.parquet")):
        again = killed / path.relative_to(whole)
        assert parquet.read_table(again).equals(parquet.read_table(path)), path.name
        assert read_record(again) == read_record(path)
    before, after = (load_file(folder / "one" / "policy" / "model.safetensors") for folder in (whole, killed))
    assert before.keys() == after.keys()
    assert all((before[key] == after[key]).all() for key in before)
