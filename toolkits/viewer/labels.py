"""Labels: what a person says of a trajectory, kept as one more judge's verdict beside the set."""

from common.errors import UserError
from common.files import parse_json, write_json
from data.outcome import Outcome, Verdict
from data.trajectory import AGREEMENT, PERSON
from toolkits.viewer.heads import as_object, as_text
from toolkits.viewer.opened import TrajectorySet

_ALLOWED = (Verdict.SUCCESS, Verdict.FAILURE)


def write_label(one: TrajectorySet, name: str, body: bytes) -> None:
    """`body` is JSON of `verdict` ("" takes a label away) and `note`; `name` that of a trajectory that was found.

    Raises:
        UserError: it is not, or the folder cannot be written.
    """
    try:
        said = as_object(parse_json(body))
    except ValueError:
        raise UserError("a label is a JSON object") from None
    verdict = as_text(said.get("verdict"))
    folder = one.path / AGREEMENT / PERSON
    if any(path.is_symlink() for path in (folder, folder.parent)):
        raise UserError(f"{AGREEMENT}/{PERSON} is a link; labels are kept in the opened folder only")
    try:
        if not verdict:
            (folder / f"{name}.json").unlink(missing_ok=True)
        elif verdict in _ALLOWED:
            outcome = Outcome(Verdict(verdict), reason=as_text(said.get("note")), judge=PERSON)
            write_json(folder / f"{name}.json", outcome.to_json())
        else:
            raise UserError(f"a label is success or failure, not {verdict[:20]!r}")
    except OSError as error:
        raise UserError(f"the label cannot be kept: {error.strerror}") from None
