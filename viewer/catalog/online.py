"""An online run as its page shows it: a round of trajectories for each version of the weights that was learned of them.

state/learned.jsonl    what became of each group, and at which version
"""

import contextlib
from pathlib import Path

from common.errors import UserError
from common.files import parse_json
from viewer.catalog.reading import inner_folder, read

_MAX_BYTES = 64 * 2**20


def rounds_of(run: Path) -> dict[str, str]:
    """By the name of a group's folder: the version that was learned of it, or why it was dropped; a group that is not
    there is under way. Empty for a run that learns in rounds."""
    state, found = inner_folder(run, "state"), {}
    with contextlib.suppress(UserError):
        for line in (read(state, "learned.jsonl", _MAX_BYTES) or b"").split(b"\n")[:-1] if state else ():
            with contextlib.suppress(ValueError):
                match parse_json(line):
                    case {"group": int(group), "version": int(version), "fate": "learned"}:
                        found[f"group{group:06d}"] = f"version {version + 1}"
                    case {"group": int(group), "fate": str(fate)}:
                        found[f"group{group:06d}"] = f"dropped, {fate[:40]}"
                    case _:
                        pass
    return found
