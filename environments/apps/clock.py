"""The clock of an application. It stands still while the content is built, and begins ten days later at each start."""

import os
from datetime import UTC, datetime
from pathlib import Path

from common.errors import UserError
from common.inherited import for_python

BUILT = "2026-01-05 09:00:00"
BEGIN = "@2026-01-15 09:00:00"  # and it goes on from there


def ahead_s(started: float) -> float:
    """Seconds by which the clock of a server that started at this Unix time is ahead of the machine's; below 0:
    behind."""
    return datetime.fromisoformat(BEGIN.removeprefix("@")).replace(tzinfo=UTC).timestamp() - started


def environment(program: Path, clock: str, **more: str) -> dict[str, str]:
    """For processes of an application whose packages lie in `program`: none of our secrets, and this clock.

    Raises:
        UserError: the library that changes the clock is not installed there.
    """
    library = next(program.glob("lib/python*/site-packages/libfaketime/vendor/libfaketime/src/libfaketime.so.1"), None)
    if library is None:
        raise UserError(f"{program} lacks libfaketime; install the application again (a C compiler is needed)")
    ours = {name: value for name, value in for_python().items() if not name.startswith("PYTHON")}
    faked = {"LD_PRELOAD": str(library), "FAKETIME": clock, "TZ": "UTC"}
    return {**ours, "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1", **faked, **more, "PATH": os.environ["PATH"]}
