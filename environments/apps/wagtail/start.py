"""Django's own web server with Wagtail, and how a browser is logged in."""

from pathlib import Path

from environments.apps.django_project import lifecycle

COOKIES = lifecycle.COOKIES
START = "/admin/"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    return lifecycle.command(program, state, Path(__file__).parent, port)
