"""Fossil's own web server, and how a browser is logged in."""

from pathlib import Path

from environments.apps.installing import debian_program

REPOSITORY = "tides.fossil"
PROJECT = "71de5" + "0" * 35
_KEY = "e1cano" * 6
COOKIES = {f"fossil-{PROJECT[:16]}": f"{_KEY}/{PROJECT[:16]}/ana"}
START = "/timeline"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    serve = ("server", "--localhost", "--nojail", "--port", str(port), str(state / REPOSITORY))
    return [*debian_program(program, "fossil"), *serve]
