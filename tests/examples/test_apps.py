"""Learning on real applications: held-out tasks, and recipes that programs take."""

from collections import Counter
from pathlib import Path

import pytest

from common.errors import UserError
from data.task import family_of_task, read_tasks
from elcano.recipe import load_recipe, load_value
from environments.apps.application import Application
from tests.conftest import ROOT
from tests.environments.made_states import MADE_STATES

WARM_START = ROOT / "examples" / "apps" / "warm_start.py"


@pytest.fixture(autouse=True)
def states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The applications need not be installed."""
    monkeypatch.setattr(Application, "seed_records", property(lambda app: MADE_STATES[app.name]))


def tasks(file: str, count: int) -> list[str]:
    return [task.id for task in read_tasks(load_value(WARM_START, "tasks", Path, file=file, count=count))]


def test_what_it_is_tested_on_is_not_learned() -> None:
    learned, known, unseen = tasks("train", 30), tasks("test_known", 30), tasks("test", 30)
    assert not set(learned) & set(known)
    assert {family_of_task(task) for task in known} <= {family_of_task(task) for task in learned}
    assert not {family_of_task(task) for task in unseen} & {family_of_task(task) for task in learned}
    imitated = tasks("train", 20)
    assert set(imitated) < set(learned)


def test_the_warm_start_imitates_the_expert_on_each_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_DEMONSTRATIONS", "3")
    recipe = load_recipe(WARM_START)
    counts = Counter(family_of_task(task.id) for task in read_tasks(recipe.rounds[0].tasks))
    assert len(counts) == 11 and max(counts.values()) == 3
    assert {part.env for part in (recipe.teacher, recipe.exploration, recipe.testing)} == {"apps"}


def test_a_template_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATES", "trac.fly")
    with pytest.raises(UserError, match="TEMPLATES: trac has no tasks 'fly'"):
        load_recipe(WARM_START)
