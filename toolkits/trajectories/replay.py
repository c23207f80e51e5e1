"""WebRL's replay of earlier successes: those the actor finds neither obvious nor alien.

Source: WebRL (arXiv 2411.02337): perplexity in [1/0.95, 1/0.5], at most twice as many steps as are new.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any

from data.samples.rewarded_step import place_fields

Record = dict[str, Any]


def trajectory_of(record: Record) -> str:
    """What the ids of a trajectory's samples have in common."""
    return place_fields(record["id"])["trajectory"]


def one_success_per_task(records: Iterable[Record]) -> list[Record]:
    """The steps of the first solved trajectory of each task, so that easy tasks do not fill the replay."""
    chosen: dict[str, str] = {}
    kept = []
    for record in records:
        if record["trajectory_reward"] >= 0.5 and (
            chosen.setdefault(record["task"], trajectory_of(record)) == trajectory_of(record)
        ):
            kept.append(record)
    return kept


def in_window(records: Sequence[Record], window: tuple[float, float], most: int, rng: random.Random) -> list[Record]:
    """At most `most` of the records, by chance, whose `perplexity` is at least the window's lower end and below its
    upper one."""
    low, high = window
    inside = [record for record in records if low <= record["perplexity"] < high]
    return rng.sample(inside, min(most, len(inside)))
