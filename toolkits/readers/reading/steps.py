"""What the readers of trajectory lists share: lists of step dicts, checked, and the images that they name."""

import ast
import contextlib
import json
import math
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from common.errors import UserError
from common.shown.terminal import in_short
from data.samples.rewarded_step import place_fields, round_of
from toolkits.readers.reading.ends_of_paths import stands_for
from toolkits.readers.reading.torch_file import plain, read_torch_file

_ROOT = re.compile(r"~.*|[A-Za-z]:|<.*>|\$.*")
"""Where a path from a root begins that does not begin with a slash; Digi-Q's are below `<path_to_images>`."""
RL_COLUMNS = ("reward", "done", "trajectory_reward", "mc_return", "rank_score", "task", "action_list")


def read_trajectory_list(path: Path) -> list[list[dict[str, Any]]]:
    """The trajectories of a `torch.save` file, each a list of step dicts; a flat list of steps gives one each.

    Raises:
        UserError: naming file, trajectory and step, when the file holds something else.
    """
    content = read_torch_file(path)
    if not isinstance(content, list):
        raise UserError(f"{path}: not a list of trajectories")
    trajectories = [[entry] if isinstance(entry, dict) else entry for entry in content]
    for number, trajectory in enumerate(trajectories, start=1):
        if not isinstance(trajectory, list) or not all(isinstance(step, dict) for step in trajectory):
            raise UserError(f"{path}: trajectory {number}: not a list of steps")
    return trajectories


def enumerate_steps(path: Path) -> Iterator[tuple[str, int, int, list[dict[str, Any]]]]:
    """(where, trajectory number, step number, its trajectory) of every step of the file; numbers start at 1."""
    for number, trajectory in enumerate(read_trajectory_list(path), start=1):
        for index in range(1, len(trajectory) + 1):
            yield f"{path}: trajectory {number}, step {index}", number, index, trajectory


def text_field(where: str, step: dict[str, Any], *keys: str) -> str:
    """`step[keys[0]][keys[1]]...`, which must be text."""
    value: Any = step
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"{where}: has no {'.'.join(keys)}")
        value = value[key]
    if not isinstance(value, str):
        raise UserError(f"{where}: its {'.'.join(keys)} is not text")
    return value


def text_of(value: Any) -> str:
    """A text that need not be there."""
    return value if isinstance(value, str) else ""


def said_in(call: re.Pattern[str], reply: str) -> str | None:
    """What a reply's call says, its first group: a literal of Python, or what stands there; None without a call."""
    found = call.search(reply.strip())
    if not found:
        return None
    try:
        return text_of(ast.literal_eval(found[1]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return found[1]


def objects_in(where: str, value: Any) -> list[dict[str, Any]]:
    """A list of objects; `UserError` for anything else."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise UserError(f"{where}: not a list of objects")
    return value


def check_numbers(where: str, value: Any) -> None:
    """`UserError` where a number in what stands for JSON is none that JSON has."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise UserError(f"{where}: holds NaN or an infinite number, which is no JSON") from None


def rl_columns(where: str, step: dict[str, Any]) -> dict[str, Any]:
    """The step's rewards and returns, as JSON can hold them."""
    columns = {name: plain(step[name]) for name in RL_COLUMNS if name in step}
    for name, value in columns.items():
        numbers = value if isinstance(value, list) and name == "action_list" else [value]
        if not all(isinstance(number, int | float | str | bool) for number in numbers):
            raise UserError(f"{where}: its {name} is neither text nor a number")
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise UserError(f"{where}: its {name} is not a finite number")
    return columns


def rewarded(where: str, step: dict[str, Any], identifier: str) -> dict[str, Any]:
    """The step's columns, and where it stands: tries of a round are of one group when they have the task's words in
    common."""
    columns, place = rl_columns(where, step), place_fields(identifier)
    if "task" in columns:
        place["group"] = f"{columns['task']}--r{round_of(place['trajectory']):02d}"
    return place | columns


def sample_id(source: str, number: int, round_id: int, step: int) -> str:
    """Named as the samples of our own trajectories are."""
    return f"{source}--{number:05d}--r{round_id:02d}--step{step:02d}"


class NoImageError(UserError):
    """An image that a record names is not there; `name` is what the record says, "" where it says none."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


def find_image(where: str, folder: Path, name: str) -> str:
    """The path in `folder` of an image, of which the end of `name` may stand there (ends_of_paths.py), of
    `../images/1.png` what is behind the dots; `NoImageError` where it is not."""
    path = PurePosixPath(posixpath.normpath(name.replace("\\", "/")))
    is_rooted = path.is_absolute() or _ROOT.fullmatch("".join(path.parts[:1])) is not None
    parts = path.parts[path.is_absolute() + path.parts.count("..") :]  # all of the dots are in front
    if "\0" not in name:
        for start in range(len(parts)):
            relative = PurePosixPath(*parts[start:])
            with contextlib.suppress(OSError):  # a name too long for any file
                if (folder / relative).is_file():
                    if (start or path.is_absolute()) and not stands_for(folder, parts, start, is_rooted):
                        break
                    return str(relative)
    raise NoImageError(f"{where}: its image {in_short(name)} is not in {folder}", name)


def with_image_dir(error: NoImageError, files: Sequence[Path]) -> UserError:
    """`error` with what to give as --image_dir: mostly images lie beside the file of `files` that names them."""
    for folder in dict.fromkeys(file if file.is_dir() else file.parent for file in files):
        with contextlib.suppress(NoImageError):
            if error.name and find_image("", folder, error.name):
                return UserError(f"{error}, but in {folder}; give --image_dir {shlex.quote(str(folder))}")
    return UserError(f"{error}; --image_dir is the folder in which the images' paths begin")


def record(identifier: str, images: Sequence[str], turns: Sequence[str], extra: dict[str, Any]) -> dict[str, Any]:
    """A sample whose `turns` are the user's and the agent's, in turn."""
    senders = ("human", "gpt")
    conversations = [{"from": senders[index % 2], "value": text} for index, text in enumerate(turns)]
    return {"id": identifier, "images": list(images), "conversations": conversations, **extra}
