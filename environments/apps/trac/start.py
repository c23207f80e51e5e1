"""Trac's own web server, and how a browser is logged in."""

from pathlib import Path

from environments.apps.installing import python_of

COOKIES = {"trac_auth": "elcano-agent-of-this-machine"}
START = "/"
_SERVE = "import sys; sys.argv[0] = 'tracd'; from trac.web.standalone import main; main()"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    return [str(python_of(program)), "-c", _SERVE, "-s", "--hostname=127.0.0.1", f"--port={port}", str(state)]
