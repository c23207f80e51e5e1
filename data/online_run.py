"""The folder of an online run: all that its collector, its trainer and its servers agree on beside HTTP.

    <run>/tasks.jsonl                   tasks, appended to at any time
    <run>/trajectories/group<NNNNNN>/   k rollouts of one task, each a trajectory folder task<ID>--run<k>
        begun.json                      first: which task, at which version of the weights
        group.json                      last, atomically: its presence means complete
    <run>/weights/<NNNNNN>/             a version of the policy, published by one rename
    <run>/state/learned.jsonl           the trainer's: what became of each group, one line each

The collector alone writes groups, the trainer alone weights and fates.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any, Literal

from common.errors import UserError
from common.files import parse_json, read_object, write_json
from common.options.fields import check_fields
from data.trajectory import folder_name

Fate = Literal["learned", "no spread", "no gain", "invalid", "too old"]
"""What became of a group. All but `learned` are dropped: they free their place, and another group is begun."""

_GROUP = re.compile(r"group(\d{6,})")
_VERSION = re.compile(r"\d{6,}")


@dataclasses.dataclass(frozen=True)
class Group:
    """A complete group, as its `group.json` says. `rewards` by rollout: None where a fault or the website ended it, or
    the judge could not tell. `versions` are the lowest and the highest version of the weights that replied in it."""

    group: int
    task_id: str
    runs: list[int]
    rewards: list[float | None]
    versions: list[int]

    def __post_init__(self) -> None:
        check_fields("the group", self)
        if len(self.runs) != len(self.rewards) or len(self.versions) != 2:
            raise UserError("not a group: runs and rewards are of one length, versions are the lowest and the highest")

    def folder_names(self) -> list[str]:
        """Of its rollouts, in their order."""
        return [folder_name(self.task_id, run) for run in self.runs]


@dataclasses.dataclass(frozen=True)
class OnlineRun:
    """Where everything of a run lies."""

    folder: Path

    @property
    def tasks(self) -> Path:
        return self.folder / "tasks.jsonl"

    @property
    def trajectories(self) -> Path:
        return self.folder / "trajectories"

    @property
    def weights(self) -> Path:
        return self.folder / "weights"

    @property
    def learned(self) -> Path:
        return self.folder / "state" / "learned.jsonl"

    def group(self, number: int) -> Path:
        return self.trajectories / f"group{number:06d}"

    def version(self, number: int) -> Path:
        return self.weights / f"{number:06d}"

    def groups(self) -> dict[int, Path]:
        """The folders of all groups, complete or not, in the order they were begun."""
        found = {int(match[1]): path for path in _entries(self.trajectories) if (match := _GROUP.fullmatch(path.name))}
        return dict(sorted(found.items()))

    def versions(self) -> dict[int, Path]:
        """The versions of the weights that are kept, from the oldest on."""
        found = {int(path.name): path for path in _entries(self.weights) if _VERSION.fullmatch(path.name)}
        return dict(sorted(found.items()))

    def newest_version(self) -> int:
        """Of those that are published.

        Raises:
            UserError: there is none yet.
        """
        if not (found := self.versions()):
            raise UserError(
                f"{self.weights}: holds no weights; put the policy to begin with, or a link to its folder, "
                f"at {self.version(0)}"
            )
        return max(found)

    def version_of(self, weights_version: str) -> int | None:
        """The number of what a server says it holds, `000012@fingerprint`; None where it says no version of this run.
        A version may be a link to a folder of another name, as the one to begin with."""
        name = weights_version.partition("@")[0]
        if _VERSION.fullmatch(name):
            return int(name)
        return next((number for number, path in self.versions().items() if path.resolve().name == name), None)


def read_group(folder: Path) -> Group | None:
    """What `group.json` says; None while the group is not complete. `UserError` where it is something else."""
    path = folder / "group.json"
    if not path.exists():
        return None
    try:
        return Group(**read_object(path))
    except (TypeError, UserError) as error:
        raise UserError(f"{path}: not a complete group ({error})") from None


def write_group(folder: Path, group: Group) -> None:
    """Complete the group."""
    write_json(folder / "group.json", dataclasses.asdict(group))


def read_fates(path: Path) -> dict[int, Fate]:
    """What became of each group, by its number. A last line that is being written is left for the next time."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    fates: dict[int, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            fields = parse_json(line)
            fates[int(fields["group"])] = fields["fate"]
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{path}:{number}: not a line about a group") from None
    return fates


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
