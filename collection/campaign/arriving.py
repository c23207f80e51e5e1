"""Where trajectories of other nodes arrive: a hidden folder of the output folder, of all drivers that share it.

What a killed driver leaves there is removed at the next start of a collector, over nodes or not. Leases tell what is
whose: the driver that takes a task holds its lease, so what arrives for one whose lease can be had is nobody's.
"""

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from collection.campaign.lease import Leases
from common.errors import UserError

_NAME = ".arriving"
_PROBE = "probe-"


@contextlib.contextmanager
def arriving_in(output_dir: Path) -> Iterator[Path]:
    """The folder, while the block runs. `UserError` where it cannot be."""
    arriving = output_dir.absolute() / _NAME
    try:
        arriving.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--output_dir: {arriving}, where trajectories of other nodes arrive, cannot be made ({error.strerror}); "
            f"delete what is in the way"
        ) from None
    try:
        yield arriving
    finally:
        with contextlib.suppress(OSError):  # another driver's trajectories arrive there
            arriving.rmdir()


@contextlib.contextmanager
def probe(arriving: Path, held: Leases) -> Iterator[Path]:
    """A file by which nodes see that they share the output folder."""
    path = arriving / f"{_PROBE}{secrets.token_hex(4)}"
    held.take(_lease_of_probe(path))  # before it is there: nobody takes it for a dead driver's
    try:
        path.touch()
        yield path
    finally:
        path.unlink(missing_ok=True)


def remove_left(output_dir: Path, held: Leases) -> None:
    """What arrived for drivers that are gone. Before this process takes tasks: it gives all leases back."""
    arriving = output_dir / _NAME
    with contextlib.suppress(OSError):  # there is none, or another collector removes the same
        for path in list(arriving.iterdir()):
            needed = _leases_of(path)
            taken = [key for key in needed if held.take(key)]
            if len(taken) == len(needed):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            for key in taken:
                held.give_back(key)
        arriving.rmdir()


def _leases_of(path: Path) -> list[str]:
    """Whoever needs it has one of these."""
    if path.name.startswith(_PROBE):
        return [_lease_of_probe(path)]
    task_id = path.name.removeprefix("task")
    return list({task_id, re.sub(r"--run\d+$", "", task_id)})  # an id may end so itself


def _lease_of_probe(path: Path) -> str:
    return f"arriving/{path.name}"  # no task's id holds a slash
