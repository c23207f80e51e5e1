"""Which group begins when, and of which task: bounds that hold whatever trainer and rollouts do."""

import random
from collections import Counter

import pytest

from collection.online.admission import Admission
from collection.online.curriculum import Curriculum
from collection.online.order import Order
from data.online_run import Group
from data.task import Task


def worst_age(rule: Admission, seed: int) -> int:
    """Of groups that complete in a random order, some of them very late, with a trainer that learns whatever it can."""
    rng = random.Random(seed)
    begun, version, dropped, ready, worst = 0, 0, 0, 0, 0
    open_at: dict[int, int] = {}
    late = {number for number in range(300) if rng.random() < 0.1}
    while begun < 300:
        if rule.allows(begun, dropped, version, min(open_at, default=None)):
            open_at[begun] = version
            begun += 1
            continue
        prompt = [number for number in open_at if number not in late]
        if prompt and (rng.random() < 0.9 or ready >= rule.groups_per_step):
            done = rng.choice(prompt)
        elif ready >= rule.groups_per_step:
            ready, version = ready - rule.groups_per_step, version + 1
            continue
        else:
            done = rng.choice(prompt or list(open_at))
        worst = max(worst, version - open_at.pop(done))
        if rng.random() < 0.3:
            dropped += 1
        else:
            ready += 1
        if ready >= rule.groups_per_step and rng.random() < 0.5:
            ready, version = ready - rule.groups_per_step, version + 1
    return worst


@pytest.mark.parametrize("max_lag", [0, 1, 2])
@pytest.mark.parametrize(("groups_per_step", "look_ahead"), [(1, 1), (1, 4), (4, 8), (4, 30)])
def test_no_group_grows_older_than_the_rule_says(groups_per_step: int, look_ahead: int, max_lag: int) -> None:
    rule = Admission(groups_per_step, max_lag, look_ahead)
    ages = [worst_age(rule, seed) for seed in range(40)]
    assert max(ages) <= rule.worst_age
    assert max(ages) >= rule.worst_age - 1  # the bound is about what happens


def test_lag_0_begins_a_step_at_a_time() -> None:
    rule = Admission(groups_per_step=3, max_lag=0, look_ahead=3)
    assert [rule.allows(begun, 0, 0, None) for begun in (0, 2, 3)] == [True, True, False]
    assert rule.allows(3, 0, 1, None) and rule.allows(3, 1, 0, None)
    assert not rule.allows(3, 1, 0, oldest_open=0)  # too far ahead of a straggler


def tasks(*names: str) -> list[Task]:
    return [Task(name, "q", "http://a/") for name in names]


def take(order: Order, number: int) -> list[tuple[str, int]]:
    return [(task.id, epoch) for task, epoch in (order.take() for _ in range(number))]


def test_every_task_comes_once_an_epoch_in_another_order() -> None:
    names = [f"t{number}" for number in range(8)]
    order = Order(seed=3)
    order.set_tasks(tasks(*names))
    epochs = [take(order, 8) for _ in range(3)]
    assert [{epoch for _, epoch in taken} for taken in epochs] == [{0}, {1}, {2}]
    assert all(sorted(name for name, _ in taken) == names for taken in epochs)
    assert len({tuple(name for name, _ in taken) for taken in epochs}) == 3


def test_a_pool_that_starts_again_goes_on_in_the_same_order() -> None:
    names = [f"t{number}" for number in range(5)]
    whole, first = Order(seed=1), Order(seed=1)
    whole.set_tasks(tasks(*names))
    first.set_tasks(tasks(*names))
    expected, begun = take(whole, 17), take(first, 8)
    again = Order(1, begun)
    again.set_tasks(tasks(*names))
    assert begun + take(again, 9) == expected


def test_a_task_that_is_added_comes_in_the_epoch_under_way() -> None:
    order = Order(seed=0)
    order.set_tasks(tasks("a", "b", "c"))
    taken = take(order, 7)
    order.set_tasks(tasks("a", "b", "new"))  # and c is gone
    taken += take(order, 5)
    assert Counter(taken[7:])["new", 2] == 1
    assert {name for name, _ in taken[7:]} == {"a", "b", "new"}
    assert max(Counter(taken).values()) == 1


def group(number: int, task_id: str, *rewards: float | None) -> Group:
    return Group(number, task_id, list(range(len(rewards))), list(rewards), [0, 0])


def test_a_kind_whose_tries_are_all_alike_comes_more_seldom_and_comes_back() -> None:
    names = [f"{kind}--{seed}" for kind in ("solved", "learned") for seed in range(100)]
    curriculum, order = Curriculum(floor=0.2), Order(seed=5)
    order.set_tasks(tasks(*names))

    def shares() -> Counter[str]:
        return Counter(order.take(curriculum.share)[0].id.rpartition("--")[0] for _ in range(400))

    assert min(shares().values()) > 180  # nobody knows anything yet
    for number in range(6):
        curriculum.settled(group(number, f"solved--{number}", 1, 1, 1))
        curriculum.settled(group(10 + number, f"learned--{number}", 1, 0, None))
    seldom = shares()["solved"]
    assert 40 < seldom < 95  # a sixth of 400
    for number in range(6):
        curriculum.settled(group(20 + number, f"solved--{number}", None, None))  # faults say nothing
    assert curriculum.share("solved--0") == 0.2
    for number in range(6):
        curriculum.settled(group(30 + number, f"solved--{number}", 1, 0))
    assert min(shares().values()) > 180


def test_a_curriculum_is_known_again_from_the_groups_of_an_earlier_start() -> None:
    complete = [group(number, f"a--{number}", 0, 0) for number in range(6)]
    assert Curriculum(0.2, complete).share("a--99") == 0.2
    assert Curriculum(1, complete).share("a--99") == 1
