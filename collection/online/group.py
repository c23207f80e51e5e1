"""A group under way: which task, and what became of each of its rollouts so far. Folders say all of it."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collection.judges.judging import is_judge_fault
from common.errors import UserError
from common.files import read_object, write_json
from data.online_run import Group, OnlineRun, read_group, write_group
from data.outcome import Outcome
from data.task import Task, task_from_json
from data.trajectory import folder_name, is_complete, read_outcome, read_trajectory

_NOTE = "begun.json"


@dataclass
class OpenGroup:
    """`version` is the one that the servers held when it began. `rewards` by rollout: what is settled."""

    number: int
    task: Task
    size: int
    epoch: int
    version: int
    folder: Path
    rewards: dict[int, float | None] = field(default_factory=dict)

    def begin(self) -> None:
        """Note it, before anything is in its folder."""
        note = {"group": self.number, "size": self.size, "epoch": self.epoch, "version": self.version}
        write_json(self.folder / _NOTE, {**note, "task": self.task.to_json()})

    def rollout(self, run: int) -> Path:
        return self.folder / folder_name(self.task.id, run)

    def settle(self, run: int, outcome: Outcome) -> None:
        """A rollout's last word; of a fault, a wall or an unclear verdict there is no reward."""
        solved = outcome.verdict.solved
        self.rewards[run] = None if solved is None else float(solved)

    @property
    def is_settled(self) -> bool:
        return len(self.rewards) == self.size

    def complete(self, run: OnlineRun) -> Group:
        """Write `group.json`."""
        said = {step.weights_version for folder in self._complete() for step in read_trajectory(folder).steps}
        numbers = [number for name in said if (number := run.version_of(name)) is not None] or [self.version]
        runs = sorted(self.rewards)
        rewards = [self.rewards[number] for number in runs]
        group = Group(self.number, self.task.id, runs, rewards, [min(numbers), max(numbers)])
        write_group(self.folder, group)
        return group

    def _complete(self) -> Iterator[Path]:
        return (folder for folder in map(self.rollout, range(self.size)) if is_complete(folder))


@dataclass(frozen=True)
class Begun:
    """What the folders of a run hold: groups under way, those that are complete, and (task, epoch) of all."""

    open: list[OpenGroup]
    complete: list[Group]
    epochs: list[tuple[str, int]]
    next_number: int


def read_begun(run: OnlineRun) -> Begun:
    """The groups of a pool that ended, however it did. A folder that nothing was noted in yet is removed."""
    under_way, complete, epochs, number = [], [], [], -1
    for number, folder in run.groups().items():
        if not (folder / _NOTE).exists():
            shutil.rmtree(folder)
            number -= 1
            continue
        group = _read_note(folder, number)
        epochs.append((group.task.id, group.epoch))
        if (done := read_group(folder)) is not None:
            complete.append(done)
        else:
            under_way.append(group)
    return Begun(under_way, complete, epochs, number + 1)


def needs_judge_alone(folder: Path) -> bool:
    """Whether a rollout ran to its end and only its verdict is missing, or was the judge's fault."""
    if not is_complete(folder):
        return False
    outcome = read_outcome(folder)
    return outcome is None or is_judge_fault(outcome)


def _read_note(folder: Path, number: int) -> OpenGroup:
    path = folder / _NOTE
    note = read_object(path)
    fields: dict[str, Any] = {name: note.get(name) for name in ("size", "epoch", "version")}
    if not all(type(value) is int for value in fields.values()):
        raise UserError(f"{path}: not the note of a group; delete {folder}, and another group is begun")
    return OpenGroup(number, task_from_json(note.get("task"), str(path)), folder=folder, **fields)
