"""The clock of an application: at each start it is the same minute of the same day, and it goes on from there."""

import os
from pathlib import Path

from common.errors import UserError
from common.inherited import for_python

BEGIN = "2026-01-05 09:00:00"


def environment(program: Path, **more: str) -> dict[str, str]:
    """For processes of an application whose packages lie in `program`: none of our secrets, another clock.

    Raises:
        UserError: the library that changes the clock is not installed there.
    """
    library = next(program.glob("lib/python*/site-packages/libfaketime/vendor/libfaketime/src/libfaketime.so.1"), None)
    if library is None:
        raise UserError(f"{program} lacks libfaketime; install the application again (a C compiler is needed)")
    ours = {name: value for name, value in for_python().items() if not name.startswith("PYTHON")}
    clock = {"LD_PRELOAD": str(library), "FAKETIME": f"@{BEGIN}", "TZ": "UTC"}
    return {**ours, "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1", **clock, **more, "PATH": os.environ["PATH"]}
