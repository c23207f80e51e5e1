"""A run repeats: with one seed, two runs take the same trajectories (docs/howto/fleet.md says what may differ)."""

from pathlib import Path

import pytest

from tests.collection.repeats import collect_twice, compare


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("is_exact", [False, True])
def test_two_runs_with_one_seed_take_the_same_trajectories(tmp_path: Path, is_exact: bool) -> None:
    assert compare(*collect_twice(tmp_path, num_tasks=8, num_sessions=4, is_exact=is_exact), is_exact) == []
