"""Experience: the samples of a data set as trajectories with their rewards."""

import collections
import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from data.samples.rewarded_step import RewardedStep, round_of
from data.shards.columns import ColumnFiles, digest_of
from training.samples.stored_sample import read_in_order


@dataclasses.dataclass(frozen=True)
class RewardedTrajectory:
    """One try of h steps as n samples, in their order: n = h, or more where steps have candidate actions.

    keys [n]: the samples' ids. steps [n], candidates [n]: which step a sample is of, and 0 for the action that was
    taken there. rewards [h]. outcome: r_T, of the whole. columns: [n] by name. digests [n]: of what the samples say.
    learned_at: the version of an online run that first learned of it; None in rounds.
    """

    id: str
    task: str
    group: str
    keys: tuple[str, ...]
    steps: np.ndarray
    candidates: np.ndarray
    rewards: np.ndarray
    outcome: float
    columns: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    digests: tuple[str, ...] = ()
    learned_at: int | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        """[n]: a column."""
        return self.columns[name]

    @property
    def earned(self) -> np.ndarray:
        """[n]: the reward of each sample's step."""
        return self.rewards[self.steps - self.steps[0]]

    @property
    def round(self) -> int:
        """Which it was made in: the newest one's are new."""
        return round_of(self.id) if self.learned_at is None else self.learned_at

    @property
    def num_steps(self) -> int:
        """h"""
        return len(self.rewards)


def read_experience(folder: Path, files: ColumnFiles, columns: Sequence[str]) -> list[RewardedTrajectory]:
    """The trajectories of a folder's training samples, sorted by id, with `columns` of `files`.

    Raises:
        UserError: there is none; a sample has no rewards; a trajectory lacks a step; a column lacks a sample or a
            number, or was made for other samples.
    """
    tries: dict[str, list[tuple[RewardedStep, str, str]]] = collections.defaultdict(list)
    for sample in read_in_order(folder, splits=("train",)):
        step = RewardedStep.of(sample.id, sample.fields)
        files.check(sample.id, sample.fields)
        tries[step.trajectory].append((step, sample.id, digest_of(sample.fields["conversations"])))
    if not tries:
        raise UserError(f"{folder}: no training sample; there is nothing to learn from")
    return [as_trajectory(name, tries[name], files, columns) for name in sorted(tries)]


def as_trajectory(
    name: str,
    samples: list[tuple[RewardedStep, str, str]],
    files: ColumnFiles | None = None,
    columns: Sequence[str] = (),
) -> RewardedTrajectory:
    """Of (where it stands, its id, a digest of what it says) of each sample, with `columns` of `files`; `UserError` as
    `read_experience`."""
    samples.sort(key=lambda sample: (sample[0].step, sample[0].candidate))
    everything, keys, digests = zip(*samples, strict=True)
    taken = [step for step in everything if step.candidate == 0]
    _check_steps(name, everything, taken)
    last = taken[-1]
    return RewardedTrajectory(
        id=name,
        task=last.task,
        group=last.group,
        keys=keys,
        steps=np.array([step.step for step in everything]),
        candidates=np.array([step.candidate for step in everything]),
        rewards=np.array([step.reward for step in taken], dtype=float),
        outcome=float(last.reward if last.trajectory_reward is None else last.trajectory_reward),
        columns={column: np.array([files.of_sample(column, key) for key in keys]) for column in columns}
        if files is not None
        else {},
        digests=digests,
    )


def _check_steps(name: str, everything: Sequence[RewardedStep], taken: Sequence[RewardedStep]) -> None:
    """Each step was taken once, and none is missing but at the start: an imported episode may begin at its second."""
    numbers = [step.step for step in taken]
    first = everything[0].step
    expected = list(range(first, first + len(numbers)))
    if numbers != expected or {step.step for step in everything} != set(expected):
        raise UserError(f"trajectory {name}: has the steps {_listed(numbers)}, each of which it should have once")
    if [step.done for step in taken] != [False] * (len(taken) - 1) + [True]:
        raise UserError(
            f"trajectory {name}: its last step, {numbers[-1]}, is not where it ended; give all its samples (those of a "
            "_filter file are torn apart: give what it was filtered from)"
        )
    if len({(step.task, step.group) for step in everything}) > 1:
        raise UserError(f"trajectory {name}: its samples name several tasks or groups")


def _listed(numbers: Iterable[Any]) -> str:
    return ", ".join(map(str, numbers))


def by_group(trajectories: Sequence[RewardedTrajectory]) -> list[list[int]]:
    """The numbers of the trajectories of each group."""
    return _gathered(trajectory.group for trajectory in trajectories)


def by_task(trajectories: Sequence[RewardedTrajectory]) -> list[list[int]]:
    """The numbers of the trajectories of each task, of all groups."""
    return _gathered(trajectory.task for trajectory in trajectories)


def _gathered(names: Iterable[str]) -> list[list[int]]:
    found: dict[str, list[int]] = collections.defaultdict(list)
    for number, name in enumerate(names):
        found[name].append(number)
    return list(found.values())
