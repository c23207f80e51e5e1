"""Steps that join are one sample, from which their turn samples can be had back; others stay as they are."""

from typing import Any

import pytest

from common.errors import UserError
from data.actions.screen import screen_text
from data.conversation import StepText, build_conversation
from data.samples.whole_trajectory import EARLIER, join_steps, split_steps

SCREEN = screen_text(("0, in front: http://shop/",))


def turn_samples(num_steps: int, last_n: int, shown: str = SCREEN) -> list[dict[str, Any]]:
    steps = [StepText(shown, feedback=f"Clicked {n}." if n else "", reply=f"reply {n}") for n in range(num_steps)]
    samples = []
    for count in range(1, num_steps + 1):
        conversation = build_conversation("Find it.", steps[:count], last_n)
        turns = [{"from": turn.role, "value": turn.text} for turn in conversation.turns]
        images = [f"{number}.png" for number in conversation.image_steps]
        fields = {"id": f"s--step{count:02d}", "images": images, "num_images": len(images), "conversations": turns}
        samples.append({**fields, "reward": float(count == num_steps)})
    return samples


@pytest.mark.parametrize(("last_n", "num_samples"), [(4, 1), (5, 1), (3, 2), (1, 4)])
def test_steps_join_as_far_as_no_screenshot_is_lost(last_n: int, num_samples: int) -> None:
    samples = turn_samples(4, last_n)
    joined = join_steps(samples)
    assert len(joined) == num_samples
    assert [step for one in joined for step in split_steps(one)] == samples


def test_an_old_tree_is_omitted_so_its_steps_stay_apart() -> None:
    samples = turn_samples(3, 3, shown="[1] RootWebArea 'Shop'")
    assert join_steps(samples) == samples
    assert [len(one["conversations"]) for one in join_steps(samples[:1])] == [2]


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        ([{"id": 3}], "sample s--step02: earlier_steps must be a list of objects, each with an id"),
        ({"id": "x"}, "must be a list"),
        ([{"id": "x"}, {"id": "y"}], "2 earlier_steps but 4 turns"),
    ],
)
def test_what_is_none_is_one_line(earlier: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        split_steps({**turn_samples(2, 2)[-1], EARLIER: earlier})
