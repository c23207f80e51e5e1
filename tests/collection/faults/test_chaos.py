"""Chaos, shorter; docs/results/collector.md has the long one."""

import pytest

from tests.collection.faults.chaos import Config, chaos


@pytest.mark.slow
def test_a_kill_loses_and_doubles_nothing() -> None:
    found = chaos(Config(num_tasks=4, num_kills=1, most_sessions=2))
    assert (found["success"], found["failure"]) == (2, 2)
    assert (found["wrong"], found["processes_left"], found["profiles_left"]) == ([], 0, 0)
