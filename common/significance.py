"""How sure a share of solved tasks is, and whether a policy changed on the same tasks."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

Z = 1.96  # 95 %


def wilson(share: float, num_tasks: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927, score interval), tasks being drawn at random."""
    if num_tasks == 0:
        return 0.0, 1.0
    shrink = 1 + Z**2 / num_tasks
    center = share + Z**2 / (2 * num_tasks)
    half = Z * math.sqrt(share * (1 - share) / num_tasks + (Z / (2 * num_tasks)) ** 2)
    return max(0.0, (center - half) / shrink), min(1.0, (center + half) / shrink)


@dataclass(frozen=True)
class Change:
    """From one policy to another on the same `num_tasks` tasks; `won` are better solved by the other, `lost` worse.

    `mean` is the difference of their shares, with its 95 % `interval` (normal, over tasks); `p_value` is that of the
    exact sign test on won and lost, which is McNemar's exact test where each task was tried once.
    """

    num_tasks: int
    won: int
    lost: int
    mean: float
    interval: tuple[float, float]
    p_value: float


def compare(before: Mapping[str, float], after: Mapping[str, float]) -> Change | None:
    """From the shares by task id (0 or 1, or a mean over runs) on the tasks of both; None where there are fewer than
    two of them."""
    differences = [after[task] - before[task] for task in before.keys() & after.keys()]
    if len(differences) < 2:
        return None
    mean = statistics.fmean(differences)
    half = Z * statistics.stdev(differences, mean) / math.sqrt(len(differences))
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return Change(len(differences), won, lost, mean, (mean - half, mean + half), sign_test(won, lost))


def sign_test(won: int, lost: int) -> float:
    """The two-sided exact probability of a split as uneven as this, were both sides as likely."""
    tail = sum(math.comb(won + lost, fewer) for fewer in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / 2 ** (won + lost))
