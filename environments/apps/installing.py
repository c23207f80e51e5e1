"""Python packages in an environment of their own, never in ours."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError

CLOCK = "libfaketime==3.0.1"
"""What gives a server another clock; a C compiler builds it."""


def python_environment(folder: Path, packages: Sequence[str]) -> None:
    """A virtual environment at `folder` with exactly these packages.

    Raises:
        UserError: it could not be made; the message is the last line of what failed.
    """
    _run("the environment", sys.executable, "-m", "venv", "--without-pip", str(folder))
    pip = (sys.executable, "-m", "pip", "--python", str(python_of(folder)), "--disable-pip-version-check", "--quiet")
    _run("its packages", *pip, "install", "--no-deps", *packages)


def python_of(folder: Path) -> Path:
    """Its Python."""
    return folder / "bin" / "python"


def _run(what: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise UserError(f"{what} could not be installed: {words[-1]} ({' '.join(command[:4])} ...)")
