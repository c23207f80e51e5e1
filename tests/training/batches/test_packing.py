"""Plans of micro-batches hold every sample once, within the limit, evenly."""

import random

import pytest

from training.batches.packing import batch_by_length, deal_out, pack_rows


@pytest.mark.parametrize("multiple", [1, 2, 4])
@pytest.mark.parametrize("seed", range(20))
def test_rows_hold_every_sample_once_and_none_overflows(seed: int, multiple: int) -> None:
    rng = random.Random(seed)
    lengths = [rng.randint(1, 100) for _ in range(rng.randint(1, 40))]
    rows = pack_rows(lengths, 100, multiple)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert all(sum(lengths[index] for index in row) <= 100 for row in rows)
    assert len(rows) % multiple == 0
    fewest = -(-sum(lengths) // 100)
    assert len(rows) <= fewest * 3 // 2 + multiple  # first-fit-decreasing needs at most 11/9 of the fewest, and 1


def test_rows_are_even() -> None:
    rows = pack_rows([10] * 12, 50)
    assert [len(row) for row in rows] == [4, 4, 4]


def test_a_tight_fit_is_kept() -> None:
    """Spreading these evenly would overflow; first fit finds the two full rows."""
    lengths = [60, 50, 40, 30, 20]
    rows = pack_rows(lengths, 100)
    assert sorted(sum(lengths[index] for index in row) for row in rows) == [100, 100]


def test_micro_batches_hold_neighbors_in_length() -> None:
    assert batch_by_length([5, 1, 4, 2, 3], 2) == [[1, 3], [4, 2], [0]]
    assert batch_by_length([1, 1], 1, multiple=4) == [[0], [1], [], []]


@pytest.mark.parametrize("seed", range(20))
def test_shares_hold_every_sample_once_and_cost_alike(seed: int) -> None:
    rng = random.Random(seed)
    costs = [rng.randint(200, 1000) for _ in range(rng.choice([16, 32, 61]))]
    for num_shares in (1, 2, 4):
        shares = deal_out(costs, num_shares, same_count=True)
        assert sorted(index for share in shares for index in share) == list(range(len(costs)))
        assert all(share == sorted(share) for share in shares)
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        if len(costs) % num_shares == 0:
            totals = [sum(costs[index] for index in share) for share in shares]
            assert max(totals) < 1.1 * sum(totals) / num_shares


def test_more_shares_than_samples_leave_some_empty() -> None:
    assert sorted(deal_out([5, 9], 3, same_count=True)) == [[], [0], [1]]
