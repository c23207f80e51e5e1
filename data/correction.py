"""Corrections: what a teacher would have said at each step of a trajectory, in its folder as `corrections.json`."""

import dataclasses
from pathlib import Path

from common.errors import UserError
from common.files import read_json, write_json
from common.options.fields import check_fields

FILE_NAME = "corrections.json"


@dataclasses.dataclass(frozen=True)
class Corrections:
    """`replies[i]` is the teacher's to the observation of step i + 1; "" where it had none."""

    teacher: str
    replies: list[str]


def write_corrections(folder: Path, corrections: Corrections) -> None:
    """Into a trajectory's folder, whole or not at all."""
    write_json(folder / FILE_NAME, dataclasses.asdict(corrections))


def read_corrections(folder: Path, num_steps: int) -> Corrections | None:
    """Those of a trajectory of `num_steps` steps, or None where it has none.

    Raises:
        UserError: the file holds something else, or corrects another number of steps.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        corrections = Corrections(**read_json(path))
    except TypeError as error:
        raise UserError(f"{path}: not corrections ({error})") from None
    check_fields(str(path), corrections)
    if len(corrections.replies) != num_steps:
        raise UserError(f"{path}: corrects {len(corrections.replies)} steps of a trajectory of {num_steps}")
    return corrections
