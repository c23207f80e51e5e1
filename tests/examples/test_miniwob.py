"""Learning on MiniWoB++: held-out tasks, recipes that programs take, and the way from the expert to a version."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from collection.config.commands import PoolConfig
from common.errors import UserError
from data.online_run import OnlineRun, read_fates
from data.task import read_tasks
from elcano.online import load_online_recipe
from elcano.recipe import load_recipe
from environments.miniwob.abilities import doable
from environments.miniwob.make_tasks import family
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "miniwob"


def kind(task_id: str) -> str:
    return task_id.removeprefix("miniwob.").rpartition("--")[0]


def test_what_it_is_tested_on_is_not_learned() -> None:
    files = {path.stem: read_tasks(path) for path in (EXAMPLE / "tasks").glob("*.jsonl")}
    kinds = {name: {kind(task.id) for task in tasks} for name, tasks in files.items()}
    assert kinds["train"] == kinds["test"] and len(kinds["train"]) == 10
    assert not {family(name) for name in kinds["train"]} & {family(name) for name in kinds["test_kinds"]}
    assert set().union(*kinds.values()) <= set(doable("webvoyager"))
    assert len({task.web for tasks in files.values() for task in tasks}) == sum(map(len, files.values()))
    assert min(Counter(kind(task.id) for task in files["test"]).values()) >= 20


def test_tasks_of_a_chosen_kind_are_of_that_kind_alone(tmp_path: Path) -> None:
    words = ["-m", "environments.miniwob.make_tasks", "--kinds", "click-test-2", "--train_seeds", "2"]
    subprocess.run([sys.executable, *words, "--output_dir", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    files = {path.stem: read_tasks(path) for path in tmp_path.glob("*.jsonl")}
    assert {name: {kind(task.id) for task in tasks} for name, tasks in files.items()} == {
        name: {"click-test-2"} for name in ("train", "validation", "test")
    }
    assert len(files["train"]) == 2


def test_the_warm_start_imitates_the_expert_on_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_DEMONSTRATIONS", "20")
    recipe = load_recipe(EXAMPLE / "warm_start.py")
    assert set(Counter(kind(task.id) for task in read_tasks(recipe.rounds[0].tasks)).values()) == {2}
    assert {part.env for part in (recipe.teacher, recipe.exploration, recipe.testing)} == {"miniwob"}
    for said, wrong in (("some", "is a number, not 'some'"), ("0", "is at least 1, not 0")):
        monkeypatch.setenv("NUM_DEMONSTRATIONS", said)
        with pytest.raises(UserError, match=f"NUM_DEMONSTRATIONS {wrong}"):
            load_recipe(EXAMPLE / "warm_start.py")


def test_the_pool_takes_the_recipe(tmp_path: Path) -> None:
    recipe = load_online_recipe(EXAMPLE / "recipe.py")
    config = PoolConfig(run_dir=tmp_path, **recipe.collection)
    assert (config.env, config.group_size) == ("miniwob", 8) and config.tree_visibility == "complete"


RECIPES = f"""
import dataclasses
from pathlib import Path
from elcano.online import load_online_recipe
from elcano.recipe import load_recipe

EXAMPLE = Path("{EXAMPLE}")
HERE = Path(__file__).parent

def recipe():
    whole = load_recipe(EXAMPLE / "warm_start.py")
    tasks = dataclasses.replace(whole.rounds[0], tasks=HERE / "first.jsonl")
    return dataclasses.replace(whole, rounds=[tasks], test_tasks=HERE / "first.jsonl", num_test_tasks=2)

def online():
    whole = load_online_recipe(EXAMPLE / "recipe.py")
    collection = dict(whole.collection, group_size=4, groups_per_step=2, num_sessions=4)
    training = dict(whole.training, groups_per_step=2, num_versions=1)
    return dataclasses.replace(whole, tasks=HERE / "more.jsonl", collection=collection, training=training)
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_from_the_expert_to_a_version_that_learned_by_itself(
    spawn: Callable[..., subprocess.Popen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        line
        for line in (EXAMPLE / "tasks" / "train.jsonl").read_text().splitlines(keepends=True)
        if kind(json.loads(line)["id"]) in ("click-test-2", "click-option")
    ]
    (tmp_path / "first.jsonl").write_text("".join(lines[:24]))
    (tmp_path / "more.jsonl").write_text("".join(lines[24:]))
    (tmp_path / "recipes.py").write_text(RECIPES)
    warm = [sys.executable, "-m", "elcano.cli", "run", tmp_path / "recipes.py", "--output_dir", tmp_path / "warm"]
    done = subprocess.run(warm, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    judged = json.loads((tmp_path / "warm" / "IL" / "samples.json").read_text())
    assert len(judged) == 36, "12 tasks of one step, 12 of two"
    monkeypatch.setenv("WARM_START", str(tmp_path / "warm" / "IL" / "policy"))
    run = OnlineRun(tmp_path / "online")
    online = spawn(
        *("-m", "elcano.cli", "online", tmp_path / "recipes.py", "--output_dir", run.folder), stdout=subprocess.PIPE
    )
    output, _ = online.communicate(timeout=1200)
    assert online.returncode == 0, output
    assert run.newest_version() == 1 and "learned" in read_fates(run.learned).values()
    assert not psutil.Process().children()
