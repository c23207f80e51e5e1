"""What was opened: runs and their sets of trajectories.

A browser names a run, set or trajectory by a key that is looked up in what was found on disk. Neither a request nor a
file's content ever becomes a path, and no link is followed.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from viewer.catalog.online import rounds_of
from viewer.catalog.reading import inner_folder, is_file, is_folder, is_plain, plain_folders

IN_TRAJECTORIES = ("trajectory.json", "steps.jsonl", "interact_messages.json")
_DEPTH = 4
_NO_SETS = {"images", "shards", "candidate-shards", "weighted-shards", "megatron", "training", "policy", "columns"}


@dataclass(frozen=True)
class TrajectorySet:
    """A folder of trajectory folders. `run` is its run's key, `name` its path there, `key` what browsers call it;
    `round`: what the table calls the round that it is of."""

    key: str
    run: str
    name: str
    path: Path
    round: str = ""


@dataclass(frozen=True)
class OpenedRun:
    """A run of `elcano run` or `elcano online`, or another folder that was opened and holds trajectories. `rounds`: of
    the groups of an online run."""

    key: str
    path: Path
    sets: list[TrajectorySet] = field(default_factory=list)
    rounds: dict[str, str] = field(default_factory=dict)


def check_roots(roots: Sequence[Path]) -> None:
    """`UserError` where one is no folder."""
    for root in roots:
        if not is_folder(root):
            what = "a file, no folder" if root.exists() else "no such folder"
            raise UserError(f"{root}: {what}; give the --output_dir of a run, or a folder of trajectories")
        try:
            str(root.resolve()).encode()
        except UnicodeEncodeError:
            raise UserError(f"{str(root)!a}: its name is no UTF-8, which the index keeps it by; rename it") from None


def discover(roots: Sequence[Path]) -> list[OpenedRun]:
    """The runs in the opened folders, as they are now: none in one that is gone."""
    runs: list[OpenedRun] = []
    for root in roots:
        key = root.absolute().name.strip(".") or root.resolve().name or "root"  # as typed, also where it is a link
        while any(run.key == key for run in runs):
            key += "+"  # another folder of this name
        runs.append(_opened(key, root.resolve()))
        _walk(root.resolve(), runs[-1], runs, _DEPTH)
    return [run for run in runs if run.sets or _is_run(run.path)]


def trajectory_folders(path: Path) -> Iterator[os.DirEntry[str]]:
    """The trajectory folders of a set whose names can be shown and asked for."""
    with os.scandir(path) as entries:
        for entry in entries:
            is_named = entry.name.startswith("task") and entry.name != "task" and is_plain(entry.name)
            if is_named and entry.is_dir(follow_symlinks=False):
                yield entry


def _walk(folder: Path, run: OpenedRun, runs: list[OpenedRun], depth: int) -> None:
    if folder != run.path and _is_run(folder):
        run = _opened(f"{run.key}/{folder.relative_to(run.path)}", folder)
        runs.append(run)
    is_set = _is_set(folder)
    if is_set:
        name = str(folder.relative_to(run.path))
        run.sets.append(TrajectorySet(f"{run.key}/{name}", run.key, name, folder, _round(run, folder, name)))
    for inner in plain_folders(folder) if depth else []:
        if inner.name not in _NO_SETS and not (is_set and inner.name.startswith("task")):
            _walk(inner, run, runs, depth - 1)


def _opened(key: str, folder: Path) -> OpenedRun:
    return OpenedRun(key, folder, rounds=rounds_of(folder))


def _round(run: OpenedRun, folder: Path, name: str) -> str:
    under_way = "under way" if run.rounds and folder.name.startswith("group") else name.rpartition("/")[0]
    return run.rounds.get(folder.name, under_way)


def _is_set(folder: Path) -> bool:
    """Whether a trajectory lies in it, or what a session that has just begun wrote: its first page."""
    with contextlib.suppress(OSError):  # it may not be read, or is gone
        for task in trajectory_folders(folder):
            with contextlib.suppress(OSError), os.scandir(task) as entries:
                if any(entry.name in IN_TRAJECTORIES or entry.name.startswith("screenshot") for entry in entries):
                    return True
    return False


def _is_run(folder: Path) -> bool:
    return inner_folder(folder, "trainer", "log", "online") is not None or (
        is_file(folder / "recipe.json") and inner_folder(folder, "stages") is not None
    )
