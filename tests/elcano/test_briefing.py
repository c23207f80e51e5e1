"""What a run says before it begins."""

import dataclasses
from pathlib import Path

import pytest

from common.files import read_json, write_json
from elcano.briefing import brief, expected_s, left
from elcano.recipe import Recipe, load_recipe
from tests.conftest import ROOT

QUICKSTART = ROOT / "examples" / "quickstart" / "recipe.py"
MEASURED = {
    "rounds": [{"name": name, "num_tasks": 75} for name in ("untrained", "IL", "optim-1")],
    "seconds_per_stage": {"untrained/test": 60, "IL/explore": 100, "IL/train": 300, "IL/test": 60}
    | {"optim-1/explore": 120, "optim-1/train": 200, "optim-1/test": 60},
}


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Two rounds of exploration, 75 test tasks."""
    monkeypatch.setenv("NUM_ROUNDS", "3")
    return load_recipe(QUICKSTART, num_test_tasks=75)


def test_how_long_a_run_takes_follows_from_an_earlier_one(recipe):
    rounds = 60 + 460 + 2 * 380  # optim-2 as optim-1
    assert expected_s(recipe, MEASURED, {}) == rounds
    assert expected_s(recipe, MEASURED, {"IL/train": 250.0}) == rounds - 300
    assert expected_s(dataclasses.replace(recipe, num_test_tasks=300), MEASURED, {}) == rounds + 4 * 3 * 60
    assert expected_s(dataclasses.replace(recipe, controls=True), MEASURED, {}) == rounds + 2 * 260


def test_it_is_scaled_to_this_machine_where_the_other_one_is_known(recipe, tmp_path):
    recipe = dataclasses.replace(recipe, reference=tmp_path / "summary.json")
    write_json(tmp_path / "summary.json", {**MEASURED, "machine_s": 0.1})
    assert "about 64 min on this machine" in brief(recipe, {}, here_s=0.3)[-1]
    write_json(tmp_path / "summary.json", MEASURED)
    assert "about 21 min on the machine where it was measured" in brief(recipe, {}, here_s=0.3)[-1]


def test_what_is_left_is_told_by_the_pace_so_far(recipe, tmp_path):
    """A short measurement can be wrong; stages that are done cannot."""
    recipe = dataclasses.replace(recipe, reference=tmp_path / "summary.json")
    write_json(tmp_path / "summary.json", MEASURED)
    assert left(recipe, {"untrained/test": 90.0}) == "about 30 min left at this pace"  # 1220 s at 1.5 times
    assert left(recipe, {}) == left(dataclasses.replace(recipe, reference=None), {"untrained/test": 90.0}) == ""


def test_the_quickstart_names_a_run_that_was_measured():
    measured = read_json(load_recipe(QUICKSTART).reference)
    assert expected_s(load_recipe(QUICKSTART), measured, {}) == pytest.approx(measured["total_seconds"], rel=0.01)


def test_it_says_what_a_round_learns_from():
    lines = brief(load_recipe(QUICKSTART), {}, here_s=0.1)
    assert lines[3] == (
        "  optim-1: the policy explores 225 others and learns from what a judge calls solved, from what the teacher "
        "would have done in the rest, again from 0.125 of the teacher's samples; weights are averaged "
        "with those before (0.5), tested"
    )


def test_it_says_what_a_round_is_given():
    recipe = load_recipe(QUICKSTART)
    given = {"tasks": (), "trajectories": Path("data/web")}
    rounds = [dataclasses.replace(round, **given) for round in recipe.rounds[:2]]
    lines = brief(dataclasses.replace(recipe, rounds=rounds), {}, here_s=0.1)
    assert "IL: the policy imitates what succeeded of data/web, tested" in lines[2]
    assert "optim-1: the policy is given data/web and learns from what a judge calls solved" in lines[3]
