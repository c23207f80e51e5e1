"""The Python in docs/reference/algorithms.md is what it says: a recipe loads, an algorithm writes its columns."""

import re
from pathlib import Path

import numpy as np
import pytest

from common.errors import UserError
from data.task import read_tasks, write_tasks
from elcano.recipe import load_recipe
from tests.conftest import ROOT
from training import algorithms
from training.samples.experience import RewardedTrajectory

PAGE = ROOT / "docs" / "reference" / "algorithms.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
IMPORTS = """
from pathlib import Path
from collection.config.commands import ExplorationConfig, RunConfig
from elcano.recipe import Recipe, Round
from server.config import ServerConfig
from training.options import TrainingOptions
"""


def test_the_recipe_of_own_tasks_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = [block for block in BLOCKS if block.startswith("def recipe")]
    (tmp_path / "mine.py").write_text(IMPORTS + block)
    (tmp_path / "runs" / "IL" / "policy").mkdir(parents=True)
    (tmp_path / "tasks").mkdir()
    tasks = read_tasks(ROOT / "data" / "tasks" / "optim-1.jsonl")
    for name in ("train", "test"):
        write_tasks(tmp_path / "tasks" / f"{name}.jsonl", tasks[:3])
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe(tmp_path / "mine.py")
    assert recipe.start == "start" and not recipe.embedded_sites


def test_the_algorithm_of_ones_own_writes_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = [block for block in BLOCKS if "class BestSteps" in block]
    (tmp_path / "mine_docs").mkdir()
    (tmp_path / "mine_docs" / "best_steps.py").write_text(block)
    monkeypatch.syspath_prepend(str(tmp_path))
    algorithm = algorithms.load("mine_docs.best_steps", "below=0.3")
    assert algorithm.makes_columns and not algorithm.value_heads

    def trajectory(outcome: float) -> RewardedTrajectory:
        values = {"value_1": np.array([0.2, 0.4])}
        steps = {"keys": ("a", "b"), "steps": np.array([1, 2]), "candidates": np.zeros(2), "columns": values}
        return RewardedTrajectory("t", "t", "t", rewards=np.array([0.0, outcome]), outcome=outcome, **steps)

    weights = [columns["weight"].tolist() for columns in algorithm.columns([trajectory(1.0), trajectory(0.0)])]
    assert weights == [[1, 0], [0, 0]]
    with pytest.raises(UserError, match="no step of 1 trajectories is left"):
        algorithm.columns([trajectory(0.0)])
