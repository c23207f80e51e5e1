"""Learning on real applications: held-out tasks, and recipes that programs take."""

import importlib
from collections import Counter
from pathlib import Path

import pytest

from common.errors import UserError
from data.task import family_of_task, read_tasks
from elcano.recipe import load_recipe, load_value
from environments.apps.application import Application, make_app
from environments.apps.templates import parse
from tests.conftest import ROOT
from tests.environments.made_states import MADE_STATES

WARM_START = ROOT / "examples" / "apps" / "warm_start.py"


@pytest.fixture(autouse=True)
def states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The applications need not be installed."""
    monkeypatch.setattr(Application, "seed_records", property(lambda app: MADE_STATES[app.name]))


def tasks(file: str, count: int) -> dict[str, str]:
    """What is asked for, template and slots however it is worded, to the template."""
    found = {}
    for task in read_tasks(load_value(WARM_START, "tasks", Path, file=file, count=count)):
        template = family_of_task(task.id)
        app, _, _ = template.partition(".")
        found[f"{app} {parse(make_app(app).module('tasks').TEMPLATES, task.ques)}"] = template
    return found


def test_what_it_is_tested_on_is_not_learned() -> None:
    learned, known, unseen = tasks("train", 30), tasks("test_known", 30), tasks("test", 30)
    assert known and unseen and not learned.keys() & (known.keys() | unseen.keys())
    assert set(known.values()) <= set(learned.values())
    assert not set(unseen.values()) & set(learned.values())
    assert tasks("train", 20).keys() < learned.keys()


def test_a_template_is_unseen_where_it_is_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATES", "trac.ticket-owner")
    monkeypatch.setenv("UNSEEN", "trac.open-ticket")
    assert set(tasks("test", 9).values()) == {"trac.open-ticket"}
    monkeypatch.setenv("UNSEEN", "trac.office-hours trac.ticket-owner")
    with pytest.raises(UserError, match="is among those that are learned from"):
        tasks("test", 9)


def test_unseen_templates_are_tested_alone_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "online"))
    worlds = importlib.import_module("worlds")
    monkeypatch.setattr(worlds, "_APP_TASKS", 3)
    held_out = worlds.WORLDS["apps"].held_out
    monkeypatch.setenv("TEMPLATES", "trac.ticket-owner")
    monkeypatch.setenv("UNSEEN", "trac.open-ticket")
    monkeypatch.setenv("ONLY_UNSEEN", "true")

    def templates() -> set[str]:
        return {family_of_task(task.id) for task in held_out(None, Path())}

    assert templates() == {"trac.open-ticket"}
    monkeypatch.delenv("ONLY_UNSEEN")
    assert templates() == {"trac.open-ticket", "trac.ticket-owner"}
    monkeypatch.setenv("UNSEEN", "")
    assert templates() == {"trac.ticket-owner"}
    monkeypatch.setenv("ONLY_UNSEEN", "true")
    with pytest.raises(UserError, match="nothing would be tested"):
        templates()


def test_the_warm_start_imitates_the_expert_on_each_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_DEMONSTRATIONS", "3")
    recipe = load_recipe(WARM_START)
    counts = Counter(family_of_task(task.id) for task in read_tasks(recipe.rounds[0].tasks))
    assert len(counts) == 11 and max(counts.values()) == 3
    assert {part.env for part in (recipe.teacher, recipe.exploration, recipe.testing)} == {"apps"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("trac.fly", "TEMPLATES: trac has no tasks 'fly'"),
        ("trac.office-hours", "TEMPLATES: 'trac.office-hours' is held out"),
        ("hledger.open-account", "TEMPLATES: 'hledger.open-account' is held out"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(template: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATES", f"trac.open-ticket {template}")
    with pytest.raises(UserError, match=message):
        load_recipe(WARM_START)
