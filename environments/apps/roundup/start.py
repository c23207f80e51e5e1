"""Roundup's own web server, and how a browser is logged in."""

from pathlib import Path

from environments.apps.installing import python_of

COOKIES = {"roundup_session_Observatory": "elcanoagentofthismachine0000000000000000000"}
START = "/tracker/"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    serve = Path(__file__).with_name("serve.py")
    return [str(python_of(program)), str(serve), str(state), str(port), address]
