"""PAE: imitate the shortest successes of each task, over everything that was collected so far.

    keep = outcome > 0 and h <= P20 of the lengths of the task's successes
    D    = `trajectories` of the kept ones, drawn without replacement by `seed` and the newest round's number
    L    = - sum_{j in D} (1/n_j) sum_i log pi(a_ji | s_j, a_j<i) / |D's steps|

The reply is trained whole, its thought with its action. A task with one success keeps it. The buffer grows by giving
the shards of all rounds; each round makes a draw of its own.

Source: PAE (arXiv 2412.13194), algorithms/utils.py.
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from common.errors import UserError
from common.options.limits import above, at_least, between
from common.seeds import derive_seed
from training.algorithms.weighted_sft import WeightedSft
from training.samples.experience import RewardedTrajectory, by_task


@dataclasses.dataclass(frozen=True)
class Pae(WeightedSft):
    """Columns: weight, 1 of every step of a trajectory that was drawn."""

    shortest: Annotated[float, above(0), between(0, 1)] = 0.2
    """Part of a task's successes that is kept, by length."""
    trajectories: Annotated[int, at_least(1)] = 1024
    """Trajectories of a round's training, at most."""
    seed: Annotated[int, at_least(0)] = 0
    """Of the draws of all rounds."""

    def why_dropped(self, outcomes: Sequence[float]) -> str:
        return "" if max(outcomes) > 0 else f"none of {len(outcomes)} tries succeeded"

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        kept = np.zeros(len(trajectories), bool)
        for numbers in by_task(trajectories):
            lengths = np.array([trajectories[number].num_steps for number in numbers])
            outcomes = np.array([trajectories[number].outcome for number in numbers])
            kept[numbers] = shortest_successes(lengths, outcomes, self.shortest)
        if not kept.any():
            raise UserError(f"none of {len(kept)} trajectories succeeded; there is nothing to imitate")
        newest = max(trajectory.round for trajectory in trajectories)
        drawn = draw(np.flatnonzero(kept), self.trajectories, derive_seed(self.seed, "pae", newest))
        return [
            {"weight": np.full(trajectory.num_steps, float(number in drawn))}
            for number, trajectory in enumerate(trajectories)
        ]


def shortest_successes(lengths: np.ndarray, outcomes: np.ndarray, part: float) -> np.ndarray:
    """Which of a task's n tries succeeded within the `part` quantile of its successes' lengths: [n], [n] -> [n] bool"""
    success = outcomes > 0
    return success & (lengths <= np.quantile(lengths[success], part)) if success.any() else success


def draw(numbers: np.ndarray, most: int, seed: int) -> set[int]:
    """At most `most` of the numbers, without replacement."""
    generator = np.random.default_rng(seed)
    return set(generator.choice(numbers, min(most, len(numbers)), replace=False).tolist())


ALGORITHM = Pae
