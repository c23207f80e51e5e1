"""Advantages, targets and filters of the algorithms, by hand on trajectories of three steps."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from common.errors import UserError
from tests.training.rewarded import trajectory
from training import algorithms
from training.algorithms import digiq, digirl, grpo, pae, webrl
from training.algorithms.filtered_bc import FilteredBc
from training.samples.estimators import keep_best, others_mean, td_errors
from training.samples.experience import RewardedTrajectory

REWARDS, NOTHING = np.array([0.0, 0.0, 1.0]), np.zeros(3)
VALUES = np.array([0.2, 0.5, 0.9])


def close(found: np.ndarray, expected: list[float]) -> bool:
    return found.shape == (len(expected),) and np.allclose(found, expected)


def test_td_errors_end_with_no_value() -> None:
    assert close(td_errors(REWARDS, VALUES), [0.3, 0.4, 0.1])
    assert close(td_errors(NOTHING, VALUES), [0.3, 0.4, -0.9])


def test_digirls_step_advantage_is_doubly_robust() -> None:
    """0.25 + 0.75 * 0.3, 0.5 + 0.5 * 0.4, 1: the return takes over towards the end. A failure has TD errors only."""
    assert close(digirl.step_advantage(REWARDS, 1.0, VALUES, 0.5), [0.475, 0.7, 1.0])
    assert close(digirl.step_advantage(NOTHING, 0.0, VALUES, 0.5), [0.3, 0.4, -0.9])
    assert close(digirl.released_advantage(REWARDS, VALUES, 0.5), [0.5, 0.85, 1.05])


def test_webrls_advantage_is_mixed() -> None:
    """Halves of the TD errors and of (0.8, 0.5, 0.1)."""
    assert close(webrl.mixed_advantage(REWARDS, 1.0, VALUES, 0.5), [0.55, 0.45, 0.1])
    assert close(webrl.mixed_advantage(REWARDS, 1.0, VALUES, 0.25), [0.675, 0.475, 0.1])  # 0.25 of TD errors
    assert close(webrl.released_advantage(1.0, VALUES, 0.9), [1.0, 1.0, 1.0])
    assert close(webrl.released_advantage(0.0, VALUES, 0.9), [1.0, 1.0, -0.6])


def test_webrls_released_advantage_gives_every_step_the_outcome_and_discounts_it() -> None:
    """A failure's values alone decide: their differences are -0.88, 0.93, -0.95. An outcome of 0.1 counts in each
    step's difference and, discounted, in its return: at first 0.1 - 0.3 - 0.05 + 0.1 (1 + gamma + gamma^2)."""
    assert close(webrl.released_advantage(0.0, np.array([0.9, 0.02, 0.95]), 0.9), [-0.6, 1.0, -0.6])
    fall = np.array([0.35, 0.05, 0.1])
    assert close(webrl.released_advantage(0.1, fall, 0.9), [1.0, 1.0, 1.0])
    assert close(webrl.released_advantage(0.1, fall, 0.2), [-0.6, 1.0, 1.0])


def test_digirls_released_filter_asks_steps_only_and_keeps_failures() -> None:
    """The failure whose value rises by 0.3 at its first step has 0.3 - 0.05 > 0, then -0.5 - 0.05; a success's fall of
    0.8 is outweighed by 0.5^2, and by 0.5: -0.8 - 0.05 + 0.25, 0.5 - 0.05 + 0.5, 1 - 0.6 - 0.05 + 1."""
    guess = {"instruction_value": np.full(3, 0.5)}
    fell, rose = np.array([0.9, 0.1, 0.6]), np.array([0.2, 0.5, 0.0])
    tries = [
        trajectory("A", 0, 1.0, 3, value_1=fell, value_2=fell, **guess),
        trajectory("A", 1, 0.0, 3, value_1=rose, value_2=rose, **guess),
    ]
    found = algorithms.load("digirl", "mode=released,quantile=0").columns(tries)
    assert close(found[0]["advantage"], [-0.6, 0.95, 1.35]) and close(found[1]["advantage"], [0.25, -0.55, -0.05])
    assert [made["weight"].tolist() for made in found] == [[0, 1, 1], [1, 0, 0]]
    assert [made["share"].tolist() for made in found] == [[1, 1, 1]] * 2
    kept = algorithms.load("digirl", "mode=released,quantile=0.9").columns(tries)  # the surprise alone
    assert [made["share"].tolist() for made in kept] == [[1, 1, 1], [0, 0, 0]]


def test_digiq_takes_the_first_of_equal_candidates() -> None:
    equal = digiq.best_candidates(np.array([0.2, 0.7, 0.7, 0.5, 0.5, 0.1]), np.array([1, 1, 1, 2, 2, 2]))
    assert equal.tolist() == [False, True, False, True, False, False]


def test_digiqs_released_advantage_is_cut() -> None:
    """A of 1.4 counts as 1, of -0.3 as 0."""
    columns = {"q_1": np.array([1.4, -0.3]), "q_2": np.array([1.4, -0.3])}
    one = [trajectory("A", 0, 1.0, 2, **columns, value_1=np.zeros(2), value_2=np.zeros(2))]
    assert weights("digiq", "loss=pg,mode=released", one) == [[5, 0]]
    assert weights("digiq", "loss=awr,mode=released,temperature=0.5", one)[0] == pytest.approx([math.exp(2), 1])
    assert weights("digiq", "loss=pg", one) == [[1.4, -0.3]]


def test_digiqs_targets_bootstrap() -> None:
    assert close(digiq.q_targets(REWARDS, np.append(VALUES[1:], 0.0), 0.9), [0.45, 0.81, 1.0])


def test_group_advantage() -> None:
    """Outcomes 1, 0, 0: mean 1/3, standard deviation of the sample 1/sqrt(3)."""
    expected = [2 / 3 * math.sqrt(3), -math.sqrt(3) / 3, -math.sqrt(3) / 3]
    assert np.allclose(grpo.group_advantage(np.array([1.0, 0.0, 0.0])), expected, atol=1e-5)
    for alike in ([1.0, 1.0], [0.0], [0.3, 0.3, 0.3]):
        assert not grpo.group_advantage(np.array(alike)).any()
    assert close(others_mean(np.array([1.0, 0.0, 1.0])), [0.5, 1.0, 0.5])


@pytest.mark.parametrize("num_successes", [1, 5, 9])
def test_below_a_tenth_of_successes_only_these_are_kept(num_successes: int) -> None:
    """The 0.9 quantile of 100 outcomes is then 0; released, it keeps all."""
    outcomes = np.zeros(100)
    outcomes[:num_successes] = 1
    assert keep_best(outcomes, outcomes, 0.9).tolist() == (outcomes > 0).tolist()
    assert keep_best(outcomes, outcomes, 0.9, only_success=False).all()
    surprising = outcomes - np.linspace(0, 0.5, 100)  # A_instr: failures are close to 0
    assert set(np.flatnonzero(keep_best(surprising, outcomes, 0.9))) <= set(range(num_successes))


def test_the_best_tenth_of_many_successes() -> None:
    outcomes = (np.arange(100) < 40).astype(float)
    surprising = outcomes - np.arange(100) / 100
    assert np.flatnonzero(keep_best(surprising, outcomes, 0.9)).tolist() == list(range(10))


def test_digirl_asks_the_smaller_twin_the_instruction_at_first_and_the_horizon() -> None:
    """V is 0.8, then 0.6: the success has the advantages 0.5 + 0.5 * (0.6 - 0.8) = 0.4 and 1. Of three, the one that
    nobody expected when it began is kept."""
    values = {"value_1": np.array([0.8, 0.9]), "value_2": np.array([0.95, 0.6])}
    guesses = ([0.9, 0.1], [0.9, 0.1], [0.1, 0.9])
    tries = [
        trajectory("A", run, 1.0, 2, **values, instruction_value=np.array(each)) for run, each in enumerate(guesses)
    ]
    found = algorithms.load("digirl", "quantile=0.8").columns(tries)
    assert [made["share"].tolist() for made in found] == [[0, 0], [0, 0], [1, 1]]
    assert close(found[2]["advantage"], [0.4, 1.0])
    for horizon, weight in ((2, [0, 1]), (3, [1, 1])):
        assert weights("digirl", f"quantile=0.8,horizon={horizon}", tries)[2] == weight


def test_pae_keeps_the_shortest_fifth_of_a_tasks_successes() -> None:
    """Lengths 3, 4, 5, 6, 7 of successes have their 0.2 quantile at 3.8. Failures do not count."""
    lengths = np.array([5, 3, 2, 7, 4, 6, *[9] * 6])
    outcomes = np.array([1.0, 1, 0, 1, 1, 1, *[0] * 6])
    assert np.flatnonzero(pae.shortest_successes(lengths, outcomes, 0.2)).tolist() == [1]
    assert pae.shortest_successes(np.array([8]), np.array([1.0]), 0.2).tolist() == [True]
    assert not pae.shortest_successes(np.array([8, 9]), np.zeros(2), 0.2).any()


def weights(name: str, options: str, tries: list[RewardedTrajectory]) -> list[list[float]]:
    return [columns["weight"].tolist() for columns in algorithms.load(name, options).columns(tries)]


def test_pae_filters_by_task_and_draws_without_replacement() -> None:
    tries = [
        trajectory("A", 0, 1.0, 2),
        trajectory("A", 1, 1.0, 3),
        trajectory("B", 0, 1.0, 4),
        trajectory("C", 0, 0.0, 1),
    ]
    assert weights("pae", "", tries) == [[1, 1], [0, 0, 0], [1, 1, 1, 1], [0]]
    drawn = [weights("pae", f"trajectories=1,seed={seed}", tries) for seed in range(8)]
    assert {sum(bool(sum(own)) for own in one) for one in drawn} == {1}
    assert len({tuple(map(tuple, one)) for one in drawn}) == 2
    assert weights("pae", "trajectories=1,seed=3", tries) == drawn[3]


def test_pae_draws_anew_in_each_round() -> None:
    """With the same seed: of what the first round collected the second, which adds a failure, draws others."""
    first = [trajectory(f"{task:02d}", 0, 1.0, 1) for task in range(30)]
    newer = dataclasses.replace(trajectory("Z", 0, 0.0, 1), id="Z--00001--run0--r02")
    drawn = [weights("pae", "trajectories=5", tries)[:30] for tries in (first, [*first, newer])]
    assert drawn[0] != drawn[1] and drawn[0] == weights("pae", "trajectories=5", first)
    assert [sum(map(sum, one)) for one in drawn] == [5, 5]


def test_filtered_behavior_cloning() -> None:
    tries = [trajectory("A", number, float(number == 4), 2) for number in range(20)]
    expected = [[float(number == 4)] * 2 for number in range(20)]
    for options in ("", "rule=quantile"):
        assert weights("filtered_bc", options, tries) == expected
    assert weights("filtered_bc", "rule=quantile,mode=released", tries) == [[1.0, 1.0]] * 20


def test_digirl_keeps_steps_of_kept_trajectories() -> None:
    """Ten tries; one success surprises, whose first step makes the value fall."""
    value = np.array([0.9, 0.5, 0.46])
    tries = [trajectory("A", 0, 1.0, 3, value_1=value, value_2=value + 0.04, instruction_value=np.full(3, 0.1))]
    tries += [
        trajectory("A", number, 0.0, 3, value_1=VALUES, value_2=VALUES, instruction_value=np.full(3, 0.1))
        for number in range(1, 10)
    ]
    first = algorithms.load("digirl", "lam=0.5").columns(tries)[0]
    assert close(first["advantage"], [0.25 + 0.75 * -0.4, 0.5 + 0.5 * -0.04, 1.0])
    assert first["weight"].tolist() == [0.0, 1.0, 1.0]
    assert weights("digirl", "", tries)[1:] == [[0.0] * 3] * 9
    assert weights("digirl", "curriculum=outcome", tries) == weights("digirl", "", tries)


def test_digiq_takes_the_best_of_n_where_it_beats_the_value() -> None:
    """Two steps with two candidates beside the action that was taken; the smaller of both heads counts."""
    q = np.array([0.4, 0.9, 0.7, 0.5, 0.55, 0.2])
    other = np.array([0.5, 0.6, 0.8, 0.6, 0.7, 0.3])
    value = np.array([0.55, 0.55, 0.55, 0.5, 0.5, 0.5])
    columns = {"q_1": q, "q_2": other, "value_1": value, "value_2": value + 0.1}
    one = [trajectory("A", 0, 1.0, 2, num_candidates=2, **columns)]
    (found,) = algorithms.load("digiq", "").columns(one)
    assert found["weight"].tolist() == [0, 0, 1, 0, 0, 0] == found["share"].tolist()  # 0.7 - 0.55; 0.55 - 0.5
    (found,) = algorithms.load("digiq", "threshold=0.04").columns(one)
    assert found["weight"].tolist() == [0, 0, 1, 0, 1, 0]
    (found,) = algorithms.load("digiq", "mode=released").columns(one)  # 0.9 - 0.65; 0.7 - 0.6
    assert found["weight"].tolist() == [0, 1, 0, 0, 0, 0] and found["share"].tolist() == [0, 1, 0, 0, 1, 0]


def test_digiqs_ablations_weigh_the_action_that_was_taken() -> None:
    advantage = np.array([-0.2, 0.3, 0.1, 0.02, 0.5, 0.0])
    columns = {"q_1": advantage, "q_2": advantage, "value_1": np.zeros(6), "value_2": np.zeros(6)}
    one = [trajectory("A", 0, 1.0, 2, num_candidates=2, **columns)]

    def weight(options: str) -> tuple[list[float], list[float]]:
        (found,) = algorithms.load("digiq", options).columns(one)
        return found["weight"].tolist(), found["share"].tolist()

    assert weight("loss=pg") == ([-0.2, 0, 0, 0.02, 0, 0], [1, 0, 0, 1, 0, 0])
    awr, share = weight("loss=awr")
    assert awr == pytest.approx([math.exp(-20), 0, 0, math.exp(2), 0, 0]) and share == awr
    assert weight("loss=awr,temperature=0.001")[0][3] == pytest.approx(20)  # not exp(20)
    assert weight("loss=pg,mode=released") == ([0, 1.5, 0, 0, 2.5, 0], [0, 1, 0, 0, 1, 0])
    assert weight("loss=awr,mode=released")[0] == pytest.approx([0, math.exp(30), 0, 0, math.exp(50), 0])


def test_grpo_drops_groups_without_spread_and_normalizes() -> None:
    tries = [
        trajectory("A", 0, 1.0, 2),
        trajectory("A", 1, 0.0, 4),
        trajectory("B", 0, 1.0, 3),
        trajectory("B", 1, 1.0, 1),
    ]
    assert weights("grpo", "", tries) == [[1, 1], [1, 1, 1, 1], [0, 0, 0], [0]]
    one = 0.5 / (math.sqrt(0.5) + 1e-6)
    for options, divisors in (("", (1, 1)), ("normalizer=trajectory", (2, 4)), ("normalizer=constant", (10, 10))):
        found = [columns["advantage"] for columns in algorithms.load("grpo", options).columns(tries)]
        assert close(found[0], [one / divisors[0]] * 2) and close(found[1], [-one / divisors[1]] * 4)
        assert not found[2].any() and not found[3].any()


def alike(**columns: Any) -> list[RewardedTrajectory]:
    return [
        trajectory("A", number, 0.0, 2, **{name: np.full(2, value) for name, value in columns.items()})
        for number in (0, 1)
    ]


NOTHING_LEFT: dict[str, tuple[str, list[RewardedTrajectory], str]] = {
    "filtered_bc": ("filtered_bc", alike(), "none of 2 trajectories succeeded; there is nothing to clone"),
    "pae": ("pae", alike(), "none of 2 trajectories succeeded; there is nothing to imitate"),
    "grpo": ("grpo", alike(), "in each of 1 groups all outcomes are alike"),
    "digirl": ("digirl", alike(value_1=0.1, value_2=0.1, instruction_value=0.1), "no step of 2 trajectories passes"),
    "digiq": ("digiq", alike(q_1=0.1, q_2=0.1, value_1=0.1, value_2=0.1), "no action of 2 trajectories is better"),
    "sft": ("sft", alike(), "Sft takes the samples as they are; it makes no columns"),
}


@pytest.mark.parametrize(("name", "tries", "message"), NOTHING_LEFT.values(), ids=NOTHING_LEFT)
def test_where_nothing_is_left_to_learn_it_is_said(name: str, tries: list[RewardedTrajectory], message: str) -> None:
    with pytest.raises(UserError, match=message):
        algorithms.load(name).columns(tries)


def test_webrl_learns_from_failures_alone() -> None:
    """Their advantages are below 0, which its regression pushes away from."""
    found = algorithms.load("webrl").columns(alike(value_1=0.4, value_2=0.3))
    assert close(found[0]["advantage"], [0.5 * 0 + 0.5 * -0.3, 0.5 * -0.3 + 0.5 * -0.3])


def test_webrl_replays_steps_of_earlier_successes_that_are_neither_obvious_nor_alien() -> None:
    """Of the first round one success a task; perplexities from 1 / 0.95 to below 2; twice as many steps as are new."""
    values = {"value_1": np.full(4, 0.5), "value_2": np.full(4, 0.5)}
    perplexity = np.array([1.0, 1.2, 1.9, 2.0])
    earlier = [
        trajectory(task, run, outcome, 4, perplexity=perplexity, **values)
        for task, run, outcome in (("A", 0, 0.0), ("A", 1, 1.0), ("A", 2, 1.0), ("B", 0, 1.0))
    ]
    short = {name: column[:1] for name, column in values.items()}
    new = trajectory("C", 0, 0.0, 1, perplexity=perplexity[:1], **short)
    new = dataclasses.replace(new, id="C--00001--run0--r02", group="the words of an imported task")
    weights = [made["weight"].tolist() for made in algorithms.load("webrl", "replay=4").columns([*earlier, new])]
    assert weights == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0], [1]]
    fewer = algorithms.load("webrl", "replay=2").columns([*earlier, new])
    assert sum(made["weight"].sum() for made in fewer) == 3
    assert all(made["weight"].all() for made in algorithms.load("webrl", "replay=2").columns(earlier))
    assert "weight" not in algorithms.load("webrl").columns(earlier)[0]


def test_webrl_counts_new_steps_not_new_trajectories() -> None:
    """Two new tries of three steps: `replay=1` takes six of the twelve old ones that lie in the window."""
    values = {"value_1": np.full(3, 0.5), "value_2": np.full(3, 0.5), "perplexity": np.full(3, 1.5)}
    earlier = [trajectory(task, 0, 1.0, 3, **values) for task in "ABCD"]
    new = [dataclasses.replace(trajectory(task, 0, 0.0, 3, **values), id=f"{task}--00001--run0--r02") for task in "EF"]
    found = algorithms.load("webrl", "replay=1").columns([*earlier, *new])
    assert sum(made["weight"].sum() for made in found[:4]) == 6 and all(made["weight"].all() for made in found[4:])


def test_webrl_has_nothing_to_learn_where_what_is_good_is_not_replayed() -> None:
    """The earlier round's success lies outside the window, and the new round's steps are not better than expected."""
    values = {"value_1": np.full(2, 0.5), "value_2": np.full(2, 0.5), "perplexity": np.full(2, 9.0)}
    earlier = trajectory("A", 0, 1.0, 2, **values)
    new = dataclasses.replace(trajectory("C", 0, 0.0, 2, **values), id="C--00001--run0--r02", group="C--00001--r02")
    with pytest.raises(UserError, match="no step of 2 trajectories is better than expected"):
        algorithms.load("webrl", "mode=released,replay=2").columns([earlier, new])


def test_partial_outcomes_are_ranked() -> None:
    tries = [trajectory("A", number, outcome, 1) for number, outcome in enumerate((0.2, 0.9, 0.0, 0.5))]
    assert [columns["weight"][0] for columns in FilteredBc("quantile", 0.5).columns(tries)] == [0, 1, 0, 1]
