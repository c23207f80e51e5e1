"""Labels: what a person says of a trajectory, kept as one more judge's verdict beside the set."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json, write_json
from data.outcome import Outcome, Verdict
from data.trajectory import AGREEMENT, PERSON
from viewer.answers import NotFoundError
from viewer.catalog.heads import as_object, as_text, plain_reason, read_verdict, shortened
from viewer.catalog.opened import TrajectorySet

_ALLOWED = (Verdict.SUCCESS, Verdict.FAILURE)
_lock = threading.Lock()


def write_label(one: TrajectorySet, name: str, body: bytes) -> None:
    """`body` is JSON of `verdict` ("" takes a label away), `note` and `replaces`, the label that its writer saw (null:
    none); `name` that of a trajectory that was found.

    Raises:
        NotFoundError: the trajectory has gone meanwhile.
        UserError: `body` is not, another label was written meanwhile, or the folder cannot be written.
    """
    try:
        said = as_object(parse_json(body))
    except ValueError:
        raise UserError("a label is a JSON object") from None
    verdict = said.get("verdict")
    if verdict not in _ALLOWED and verdict != "":
        raise UserError(f"a label is success, failure or nothing, not {str(verdict)[:20]!r}")
    if not (one.path / name).is_dir():
        raise NotFoundError("the trajectory is no longer there")
    try:
        with _lock, _folder(one.path) as folder:
            _check_seen(one, name, said)
            if verdict:
                outcome = Outcome(Verdict(verdict), reason=as_text(said.get("note")), judge=PERSON)
                write_json(folder / f"{name}.json", outcome.to_json())
            else:
                (folder / f"{name}.json").unlink(missing_ok=True)
    except FileNotFoundError:
        raise NotFoundError("the trajectory is no longer there") from None
    except OSError as error:
        raise UserError(f"the label cannot be kept: {error.strerror}") from None


def _check_seen(one: TrajectorySet, name: str, said: dict[str, Any]) -> None:
    """Two persons may look at one trajectory: neither's label goes unseen."""
    there = None
    with contextlib.suppress(UserError):  # half a file is nobody's label
        there = read_verdict(one.path / AGREEMENT / PERSON, f"{name}.json")
    seen = as_object(said.get("replaces"))
    is_seen = there and (seen.get("verdict"), plain_reason(as_text(seen.get("note")))) == (
        there.verdict,
        plain_reason(there.reason),  # as pages show it
    )
    if there and "replaces" in said and not is_seen:
        raise UserError(
            f"meanwhile it was labeled {there.verdict}{there.reason and f' ({shortened(there.reason)})'}; "
            "load the page again to see it, then yours can take its place"
        )


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """The person's verdicts beside a set that is still there; `OSError` where a link leads there."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for name in (AGREEMENT, PERSON):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=opened)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = inner
        yield Path(f"/proc/self/fd/{opened}")  # whatever becomes of its name meanwhile
    finally:
        os.close(opened)
