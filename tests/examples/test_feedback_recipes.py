"""The published recipe, whose task files are all found and whose commands are what a person would type; and ours."""

import contextlib
from collections.abc import Iterator

import pytest

from common.errors import UserError
from data.task import read_tasks
from elcano.executors.executor import Command
from elcano.recipe import load_recipe
from elcano.resources import Resources
from elcano.rounds import Stages
from elcano.stages.stage import Logbook
from tests.conftest import ROOT

RECIPE = ROOT / "examples" / "openwebvoyager" / "recipe.py"


@pytest.fixture
def recipe(field_files, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENWEBVOYAGER_TASKS", str(field_files / "tasks"))
    monkeypatch.setenv("IDEFICS2", str(tmp_path))
    return load_recipe(RECIPE)


def test_four_stages_with_the_published_numbers_of_queries(recipe, tmp_path):
    assert [round.name for round in recipe.rounds] == ["IL", "optim-1", "optim-2", "optim-3"]
    stages = Stages(recipe, tmp_path / "run", Logbook(tmp_path / "run"), Noted())
    sizes = [len(read_tasks(stages.task_file(round))) for round in recipe.rounds]
    assert sizes == [1516, 480, 480, 480]
    assert len(read_tasks(stages.joined("test", "test_tasks", recipe.test_tasks))) == 643 + 112 + 106


def test_the_stages_are_the_published_commands(recipe, tmp_path):
    noted = Noted()
    stages = Stages(recipe, tmp_path / "run", Logbook(tmp_path / "run"), noted)
    for round in recipe.rounds[:2]:
        stages.explore(round, tmp_path)
    teacher, policy = noted.commands
    assert "exploration_feedback.py" in teacher and "--judge finished" in teacher and "--max_rerun_times 2" in teacher
    assert "--api_eval_model gpt-4o" in policy and "--max_rerun_times 5" in policy and "--temperature 1.2" in policy
    assert "--max_iter 15" in policy and "--max_attached_imgs 3" in policy and "api_key" not in teacher + policy


def test_what_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("OPENWEBVOYAGER_TASKS", raising=False)
    with pytest.raises(UserError, match="set OPENWEBVOYAGER_TASKS"):
        load_recipe(RECIPE)


class Noted:
    """An executor that starts nothing."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def run(self, command: Command, resources: Resources) -> None:
        self.commands.append(" ".join(command.words))

    @contextlib.contextmanager
    def service(self, command: object, health: str, resources: Resources, wanted_port: int = 0) -> Iterator[str]:
        yield "http://127.0.0.1:8080"


def test_the_feedback_recipe_is_the_quickstart_with_three_rounds_and_a_judge_that_errs(monkeypatch):
    monkeypatch.setenv("NOISE", "0.1")
    recipe = load_recipe(ROOT / "examples" / "feedback" / "recipe.py")
    assert [round.name for round in recipe.rounds] == ["IL", "optim-1", "optim-2", "optim-3"]
    assert (recipe.exploration.judge, recipe.exploration.eval_noise) == ("oracle", 0.1)
    assert recipe.testing.eval_noise == 0
