"""A broken step is skipped and said so; a run that stays broken ends."""

import math
from pathlib import Path

import pytest

from common.errors import UserError
from training.loop.optimization import Guard
from training.online.config import OnlineConfig


def accustomed(factor: float = 10.0) -> Guard:
    guard = Guard(factor)
    for norm in [1.0] * Guard.MIN_HISTORY:
        assert guard.reason_to_skip(norm) is None
    return guard


@pytest.mark.parametrize("norm", [math.nan, math.inf])
def test_what_is_not_finite_is_skipped_from_the_first_step(norm: float) -> None:
    assert "gradient norm of" in Guard(0.0).reason_to_skip(norm)


def test_a_spike_is_skipped_and_does_not_become_usual() -> None:
    guard = accustomed()
    assert guard.reason_to_skip(9.9) is None
    assert "more than 10 times the usual 1" in guard.reason_to_skip(10.1)
    assert 10.1 not in guard.norms


def test_steps_without_a_gradient_say_nothing_of_the_usual() -> None:
    """Those whose samples all weigh nothing, however many."""
    guard = Guard(10.0)
    for number in range(500):
        assert guard.reason_to_skip(1.0 if number % 5 == 0 else 0.0) is None
    assert guard.reason_to_skip(10.1) is not None


def test_no_spike_is_seen_without_a_history_or_a_factor() -> None:
    assert Guard(10.0).reason_to_skip(1e6) is None
    assert accustomed(0.0).reason_to_skip(1e6) is None


def test_an_online_run_skips_no_gradient_for_its_size(tmp_path: Path) -> None:
    """Where most tries succeed already, the usual one is tiny; these are norms of a run on Trac."""
    config = OnlineConfig(run_dir=tmp_path, pretrain_checkpoint_path=tmp_path)
    guard = Guard(config.spike_factor)
    for _ in range(Guard.WINDOW):
        guard.reason_to_skip(1e-4)
    assert guard.reason_to_skip(1.8) is None
    assert guard.reason_to_skip(math.nan) is not None


def test_a_run_that_stays_broken_ends_in_one_line() -> None:
    guard = Guard(0.0)
    for _ in range(Guard.MAX_SKIPPED - 1):
        guard.reason_to_skip(math.nan)
    with pytest.raises(UserError, match="10 steps in a row skipped"):
        guard.reason_to_skip(math.nan)


def test_a_resumed_guard_decides_as_before() -> None:
    resumed = Guard(10.0)
    resumed.load_state_dict(accustomed().state_dict())
    assert resumed.reason_to_skip(10.1) is not None
