"""Seeds: the same for the same purpose, another one for every other."""

from common.seeds import derive_seed


def test_no_two_purposes_share_a_seed() -> None:
    seeds = {
        derive_seed(seed, task, run, step)
        for seed in range(3)
        for task in ("shop--1", "shop--10", "shop--11")
        for run in (None, 0, 1, 2)
        for step in range(1, 16)
    }
    assert len(seeds) == 3 * 3 * 4 * 15
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_parts_are_not_run_together() -> None:
    assert derive_seed(1, "a", 12) != derive_seed(1, "a1", 2) != derive_seed(11, "a", 2)
    assert derive_seed(1, "a", 2) == derive_seed(1, "a", 2)
