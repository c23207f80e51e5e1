"""Django's own web server with pretalx, and how a browser is logged in."""

from pathlib import Path
from urllib.parse import urlsplit

from environments.apps.django_project import lifecycle
from environments.apps.pretalx.content import SLUG

COOKIES = lifecycle.COOKIES
START = f"/orga/event/{SLUG}/"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone. It refuses to show a conference's pages at other addresses than its own."""
    origin = urlsplit(address)._replace(path="", query="").geturl()
    served = lifecycle.command(program, state, Path(__file__).parent, port)
    return ["/usr/bin/env", f"PRETALX_SITE_URL={origin}", *served]
