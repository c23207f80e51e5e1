"""Rounds that propose their tasks, small: WebRL's curriculum from failures through its critic, with replay; PAE with a
proposer and an evaluator. The policy solves none of them; verdicts are turned round by chance to have both kinds."""

import json
from pathlib import Path

import pytest

from common.errors import UserError
from data.shards.columns import read_rows
from data.task import read_tasks, write_tasks
from elcano.recipe import load_recipe
from tests.conftest import ROOT
from tests.elcano.test_algorithm_round import RECIPE, WEIGHTS, finish

WEBRL = """
    first = recipe.rounds[0]
    evolved = ProposerFlags(method="evolve", num_tasks=4, ground_truth=True, critic_window=(0.0, 1.0))
    second = dataclasses.replace(first, name="two", proposals=evolved, buffer=True)
    return dataclasses.replace(recipe, rounds=[first, second])
"""
PAE = """
    judged = {"judge": "pae", "api_eval_model": "judge", "eval_trees": 1}
    proposed = dataclasses.replace(recipe.rounds[0], proposals=ProposerFlags(method="names", num_tasks=3))
    exploration = dataclasses.replace(recipe.exploration, **judged)
    return dataclasses.replace(recipe, rounds=[proposed], exploration=exploration)
"""


def write_recipe(folder: Path, training: str, round: str, more: str) -> Path:
    tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / "optim-1.jsonl") if "price" in task.id][:4]
    write_tasks(folder / "tasks.jsonl", tasks)
    text = RECIPE.format(weights=str(WEIGHTS), training=training, round=round)
    text = text.replace("    return Recipe(", "    recipe = Recipe(")
    head = "from collection.config.proposals import ProposerFlags\n"
    (folder / "recipe.py").write_text(head + text + more)
    return folder / "recipe.py"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_phase_takes_what_failed_on_through_the_critic_and_replays_what_succeeded(tmp_path: Path) -> None:
    options = 'algorithm="webrl", algorithm_options="replay=2,window_low=0,window_high=1e300"'
    recipe, run_dir = write_recipe(tmp_path, options, 'critic="monte_carlo"', WEBRL), tmp_path / "run"
    finish(recipe, run_dir)
    tasks = {task.ques for task in read_tasks(run_dir / "two" / "tasks.jsonl")}
    assert tasks and not tasks & {task.ques for task in read_tasks(tmp_path / "tasks.jsonl")}
    scores = [json.loads(line) for line in (run_dir / "two" / "proposals" / "scores.jsonl").read_text().splitlines()]
    assert tasks <= {score["ques"] for score in scores} and all(0 < score["score"] < 1 for score in scores)
    explored = {path.name.split("--run")[0] for path in (run_dir / "two" / "trajectories").glob("task*")}
    assert explored == {f"task{task.id}" for task in read_tasks(run_dir / "two" / "tasks.jsonl")}
    rows = read_rows(run_dir / "two" / "columns" / "algorithm.parquet")
    weights = {new: [row for row in rows if ("--r02" in row["id"]) == new] for new in (True, False)}
    assert all(row["weight"] == 1 for row in weights[True])
    replayed = [row for row in weights[False] if row["weight"]]
    assert replayed and all(row["outcome"] == 1 for row in replayed) and len(replayed) <= 2 * len(weights[True])
    assert (run_dir / "two" / "test" / "summary.json").exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_proposer_and_an_evaluator_are_in_the_loop(tmp_path: Path) -> None:
    recipe, run_dir = write_recipe(tmp_path, 'algorithm="pae"', "", PAE), tmp_path / "run"
    finish(recipe, run_dir)
    tasks = read_tasks(run_dir / "one" / "tasks.jsonl")
    assert tasks and all(task.eval is None for task in tasks)
    verdicts = [json.loads(path.read_text()) for path in run_dir.glob("one/trajectories/*/outcome.json")]
    assert {verdict["judge"] for verdict in verdicts} <= {"pae", "noisy"}  # noisy: one that was turned round
    assert any("SUCCESS" in verdict["raw"] for verdict in verdicts)
    assert (run_dir / "one" / "policy" / "model.safetensors").exists()


def test_a_first_round_has_nothing_to_evolve_from(tmp_path: Path) -> None:
    more = WEBRL.replace("rounds=[first, second]", "rounds=[second]")
    with pytest.raises(UserError, match="two has no round before it to propose tasks from"):
        load_recipe(write_recipe(tmp_path, 'algorithm="webrl"', "", more))
