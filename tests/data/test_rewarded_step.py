"""Where a sample stands in its trajectory, and what it earned."""

from typing import Any

import pytest

from common.errors import UserError
from data.samples.rewarded_step import RewardedStep, discounted_returns, place_fields, reward_fields

IDS = [f"Shop--00003--run2--r04--step{number:02d}" for number in (1, 2, 3)]


def test_a_success_is_rewarded_at_its_end() -> None:
    steps = [
        RewardedStep.of(identifier, fields) for identifier, fields in zip(IDS, reward_fields(IDS, True), strict=True)
    ]
    assert [(step.step, step.done, step.reward) for step in steps] == [(1, False, 0), (2, False, 0), (3, True, 1)]
    expected = {("Shop--00003--run2--r04", "Shop--00003--r04", "Shop--00003")}
    assert {(step.trajectory, step.group, step.task) for step in steps} == expected
    assert [fields["reward"] for fields in reward_fields(IDS, False)] == [0, 0, 0]


def test_tries_of_a_round_are_a_group_and_those_of_another_round_are_not() -> None:
    groups = [place_fields(f"{name}--step01")["group"] for name in ("A--1--run0--r01", "A--1--run1--r01", "A--1--r02")]
    assert groups == ["A--1--r01", "A--1--r01", "A--1--r02"]
    with pytest.raises(UserError, match="sample x: its id does not end with --step<number>"):
        place_fields("x")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no reward": ({"reward": None}, "sample x: its reward is None, which is no float"),
    "text": ({"step": "1"}, "sample x: its step is '1', which is no int"),
    "nan": ({"reward": float("nan")}, "sample x: its reward is nan"),
    "no float holds it": ({"reward": 10**400}, "sample x: its reward is 1000"),
}


@pytest.mark.parametrize(("fields", "message"), REFUSED.values(), ids=REFUSED)
def test_fields_of_another_type_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        RewardedStep.of("x", reward_fields(IDS, True)[0] | fields)


def test_returns_are_discounted_by_hand() -> None:
    assert discounted_returns([1, 0, 1], 0.9) == pytest.approx([1.81, 0.9, 1])
