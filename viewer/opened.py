"""What was opened: runs, their sets of trajectories, and the one way to a file of theirs.

A browser names a run, set or trajectory by a key that is looked up in what was found on disk. Neither a request nor a
file's content ever becomes a path, and no link is followed.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from data.names import check_name

IN_TRAJECTORIES = ("trajectory.json", "steps.jsonl", "interact_messages.json")
MAX_BYTES = 32 * 2**20
_DEPTH = 4
_NO_SETS = {"images", "shards", "candidate-shards", "weighted-shards", "megatron", "training", "policy", "columns"}


@dataclass(frozen=True)
class TrajectorySet:
    """A folder of trajectory folders. `run` is its run's key, `name` its path there, `key` what browsers call it."""

    key: str
    run: str
    name: str
    path: Path


@dataclass(frozen=True)
class OpenedRun:
    """A run of `elcano run`, or another folder that was opened and holds trajectories."""

    key: str
    path: Path
    sets: list[TrajectorySet] = field(default_factory=list)


def check_roots(roots: Sequence[Path]) -> None:
    """`UserError` where one is no folder."""
    for root in roots:
        if not is_folder(root):
            what = "a file, no folder" if root.exists() else "no such folder"
            raise UserError(f"{root}: {what}; give a run's, such as runs/quickstart, or one of trajectories")
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
        runs.append(OpenedRun(key, root.resolve()))
        _walk(root.resolve(), runs[-1], runs, _DEPTH)
    return [run for run in runs if run.sets or _is_run(run.path)]


def trajectory_folders(path: Path) -> Iterator[os.DirEntry[str]]:
    """The trajectory folders of a set whose names can be shown and asked for."""
    with os.scandir(path) as entries:
        for entry in entries:
            is_named = entry.name.startswith("task") and entry.name != "task" and is_plain(entry.name)
            if is_named and entry.is_dir(follow_symlinks=False):
                yield entry


def is_plain(name: str) -> bool:
    """Whether a name from disk can be shown and asked for: text without control characters, not too long."""
    try:
        check_name("", name)
    except UserError:
        return False
    return True


def read(folder: Path, name: str, most: int = MAX_BYTES, only_head: bool = False) -> bytes | None:
    """A file of a folder that was found, or its first `most` bytes; None where it is missing.

    Raises:
        UserError: it is a link, no file, or larger than `most` bytes; or the folder may not be opened.
    """
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise UserError(f"the folder cannot be read ({error.strerror})") from None
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({error.strerror}); links are not followed") from None
    finally:
        os.close(directory)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise UserError(f"{name}: not a file")
    with open(handle, "rb") as file:
        if status.st_size > most and not only_head:
            raise UserError(f"{name}: {status.st_size >> 20} MiB, too large to show")
        return file.read(most)


def plain_folders(folder: Path) -> list[Path]:
    """Its folders that are no links, sorted; [] where there is no such folder."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and is_plain(entry.name)]
    except OSError:
        return []
    return [Path(path) for path in sorted(found)]


def inner_folder(folder: Path, *names: str) -> Path | None:
    """One below a folder that was found; None where it is not there, or a link stands on the way."""
    for name in names:
        folder /= name
        if not is_folder(folder) or folder.is_symlink():
            return None
    return folder


def is_folder(path: Path) -> bool:
    """Whether one is there, as far as may be seen."""
    with contextlib.suppress(OSError):
        return path.is_dir()
    return False


def is_file(path: Path) -> bool:
    """Whether one is there, as far as may be seen."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def _walk(folder: Path, run: OpenedRun, runs: list[OpenedRun], depth: int) -> None:
    if folder != run.path and _is_run(folder):
        run = OpenedRun(f"{run.key}/{folder.relative_to(run.path)}", folder)
        runs.append(run)
    is_set = _is_set(folder)
    if is_set:
        name = str(folder.relative_to(run.path))
        run.sets.append(TrajectorySet(f"{run.key}/{name}", run.key, name, folder))
    for inner in plain_folders(folder) if depth else []:
        if inner.name not in _NO_SETS and not (is_set and inner.name.startswith("task")):
            _walk(inner, run, runs, depth - 1)


def _is_set(folder: Path) -> bool:
    """Whether a trajectory lies in it, or what a session that has just begun wrote: its first page."""
    with contextlib.suppress(OSError):  # it may not be read, or is gone
        for task in trajectory_folders(folder):
            with contextlib.suppress(OSError), os.scandir(task) as entries:
                if any(entry.name in IN_TRAJECTORIES or entry.name.startswith("screenshot") for entry in entries):
                    return True
    return False


def _is_run(folder: Path) -> bool:
    return is_file(folder / "recipe.json") and inner_folder(folder, "stages") is not None
