"""The recipes of examples/<algorithm>/: sound, each of its algorithm, and from the policy that is named."""

from pathlib import Path

import pytest

from common.errors import UserError
from elcano.recipe import load_recipe
from tests.conftest import ROOT
from training import algorithms

WEIGHTS = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
ALGORITHMS = ("digiq", "digirl", "filtered_bc", "grpo", "pae", "webrl")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_recipe_goes_from_a_policy_by_its_algorithm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY", str(WEIGHTS))
    recipe = load_recipe(ROOT / "examples" / name / "recipe.py")
    assert (recipe.name, recipe.start, recipe.starting_policy) == (name, "start", WEIGHTS)
    for round in recipe.rounds:
        options = recipe.training_of(round)
        assert options.algorithm == name and round.agent == "policy" and recipe.exploration.all_tries
        algorithm = algorithms.load(name, options.algorithm_options)
        assert algorithm.takes_candidates == (round.candidates is not None)
        assert bool(algorithm.sources) == bool(round.critic)
        if round.representation:
            assert (name, round.representation.algorithm) == ("digiq", "sft")
    assert (ROOT / "examples" / name / "README.md").read_text().count("|---|---|---|") == 1


def test_a_policy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLICY", str(tmp_path / "none"))
    with pytest.raises(UserError, match=f"{tmp_path}/none: no policy to begin with; make one by NUM_ROUNDS=1 bash"):
        load_recipe(ROOT / "examples" / "webrl" / "recipe.py")


@pytest.mark.skipif((ROOT / "runs" / "phone" / "warm_start").exists(), reason="somebody made the phone's policy")
def test_the_phones_policy_is_made_by_another_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLICY", raising=False)
    with pytest.raises(UserError, match="no policy to begin with; make one by elcano run examples/digirl/phone_warm"):
        load_recipe(ROOT / "examples" / "digiq" / "phone.py")
