"""Intervals and the paired test, against figures of tables and textbooks."""

import pytest

from common.significance import compare, sign_test, wilson


def test_wilson_intervals():
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I
    assert wilson(1.0, 10)[1] == 1.0
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_a_change_is_tested_on_the_tasks_of_both():
    """30 won and 16 lost of 150, the figure of a quickstart's IL against optim-2."""
    before = {str(task): float(task < 70) for task in range(150)}
    after = {task: 1 - solved if int(task) < 16 or int(task) >= 120 else solved for task, solved in before.items()}
    change = compare({**before, "only before": 1.0}, {**after, "only after": 1.0})
    assert (change.num_tasks, change.won, change.lost) == (150, 30, 16)
    assert change.p_value == pytest.approx(0.054, abs=1e-3)
    assert change.mean == pytest.approx(14 / 150)
    assert change.interval == pytest.approx((0.0056, 0.1810), abs=1e-3)
    assert compare(before, {}) is None


def test_the_sign_test_is_exact_and_two_sided():
    assert sign_test(0, 0) == sign_test(3, 3) == 1.0
    assert sign_test(5, 0) == sign_test(0, 5) == 2 / 32
