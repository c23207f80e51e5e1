"""Which groups may be taken next: the oldest complete ones, past a straggler as far as the look-ahead allows."""

import math
from collections.abc import Collection, Iterable


def takeable(begun: Iterable[int], complete: Collection[int], look_ahead: int) -> list[int]:
    """Of the groups that are `begun` and have no fate, by number, those to take, oldest first.

    A group that is not `complete` is passed by at most `look_ahead` younger ones; beyond them it is waited for. So the
    weights are never more than ceil(look_ahead / groups_per_step) versions further than without it.
    """
    waiting = sorted(begun)
    straggler = next((number for number in waiting if number not in complete), None)
    last = math.inf if straggler is None else straggler + look_ahead
    return [number for number in waiting if number in complete and number <= last]
