"""What goes into an export, how its files come there, and how the whole of it appears, in one move."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.files import read_json
from common.full_disk import writing_to
from data.trajectory import Trajectory, read_trajectory
from toolkits.readers.reading.pictures import check_picture
from toolkits.readers.reading.steps import check_numbers


def place(source: Path | bytes, target: Path) -> None:
    """A copy, so that neither changes with the other; one that is there already has the same name for a reason."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, bytes):
        target.write_bytes(source)
        return
    if not target.exists():
        shutil.copyfile(source, target)


def read_whole(folder: Path) -> Trajectory:
    """A trajectory whose pictures decode and whose numbers are some that JSON has.

    Raises:
        UserError: naming the step.
    """
    trajectory = read_trajectory(folder)
    for step in trajectory.steps:
        where, boxes = f"{folder}: step {step.number}", folder / f"boxes{step.number}.json"
        check_picture(where, trajectory.screenshot(step.number))
        check_numbers(where, [step.to_json(), read_json(boxes) if boxes.exists() else None])
    return trajectory


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write in, which becomes `target` when the block ends well; else nothing is left.

    Raises:
        UserError: something is there.
    """
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"--out_dir {target}: something is there; give another folder")
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed run left
    with writing_to(target):
        try:
            temporary.mkdir(parents=True)
            yield temporary
            shutil.rmtree(target, ignore_errors=True)
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
