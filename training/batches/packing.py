"""Which samples of an optimizer step a replica trains on, and which of these share a micro-batch, and a row of it.

Plans are made of lengths alone, are the same on every rank that makes them, and hold every sample exactly once.
"""

from collections.abc import Sequence


def deal_out(costs: Sequence[float], num_shares: int, same_count: bool) -> list[list[int]]:
    """`num_shares` shares of as even a cost as may be, with `same_count` of as many samples, too (give or take one).

    Costliest first, each sample goes to the share that has cost least so far and has room (Graham's longest processing
    time first).

    Returns:
        For each share the positions of its samples in `costs`, ascending.
    """
    fewest, more = divmod(len(costs), num_shares)
    room = [fewest + (share < more) if same_count else len(costs) for share in range(num_shares)]
    shares: list[list[int]] = [[] for _ in range(num_shares)]
    totals = [0.0] * num_shares
    for index in sorted(range(len(costs)), key=lambda index: (-costs[index], index)):
        share = min((s for s in range(num_shares) if len(shares[s]) < room[s]), key=lambda s: (totals[s], s))
        shares[share].append(index)
        totals[share] += costs[index]
    return [sorted(share) for share in shares]


def like_with_like(costs: Sequence[float], size: int) -> list[list[int]]:
    """Batches of `size` samples of like cost, cheapest first; for each the positions of its samples in `costs`."""
    ordered = sorted(range(len(costs)), key=lambda index: (costs[index], index))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def batch_by_length(lengths: Sequence[int], batch_size: int, multiple: int = 1) -> list[list[int]]:
    """Micro-batches of `batch_size` samples, shortest first, so that little is padded.

    Args:
        lengths: tokens of each sample.
        multiple: the number of micro-batches is a multiple of it; empty ones make up for what is missing.

    Returns:
        For each micro-batch the positions of its samples in `lengths`.
    """
    ordered = sorted(range(len(lengths)), key=lambda index: lengths[index])
    batches = [ordered[start : start + batch_size] for start in range(0, len(ordered), batch_size)]
    return batches + [[] for _ in range(-len(batches) % multiple)]


def pack_rows(lengths: Sequence[int], capacity: int, multiple: int = 1) -> list[list[int]]:
    """Rows of at most `capacity` tokens: as few as first-fit-decreasing finds, then as even as they can be.

    Even rows matter because replicas and pipeline stages wait for the longest. `multiple` is the same as above; every
    length must be within `capacity`.
    """
    longest_first = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    fullest = _first_fit(lengths, longest_first, capacity)
    fullest += [[] for _ in range(-len(fullest) % multiple)]
    return _spread_evenly(lengths, longest_first, capacity, len(fullest)) or fullest


def _first_fit(lengths: Sequence[int], order: Sequence[int], capacity: int) -> list[list[int]]:
    rows: list[list[int]] = []
    room: list[int] = []
    for index in order:
        row = next((row for row, left in enumerate(room) if lengths[index] <= left), None)
        if row is None:
            row = len(rows)
            rows.append([])
            room.append(capacity)
        rows[row].append(index)
        room[row] -= lengths[index]
    return rows


def _spread_evenly(
    lengths: Sequence[int], order: Sequence[int], capacity: int, num_rows: int
) -> list[list[int]] | None:
    """Each sample into the emptiest row; None where that overflows."""
    rows: list[list[int]] = [[] for _ in range(num_rows)]
    used = [0] * num_rows
    for index in order:
        row = used.index(min(used))
        if used[row] + lengths[index] > capacity:
            return None
        rows[row].append(index)
        used[row] += lengths[index]
    return rows
