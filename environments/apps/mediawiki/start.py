"""PHP's own web server with MediaWiki, and how a browser is logged in."""

from pathlib import Path

from environments.apps.mediawiki.install import wiki
from environments.apps.php import php

AGENT_ID = 11
TOKEN = "e1cano" * 5 + "e1"
"""Of the agent's user; MediaWiki knows a browser again by it."""
COOKIES = {"wikiUserID": str(AGENT_ID), "wikiUserName": "Ana", "wikiToken": TOKEN}
START = "/index.php/Main_Page"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    where = {"MW_CONFIG_FILE": str(state / "LocalSettings.php"), "WIKI_ADDRESS": address.removesuffix(START)}
    locks = {"opcache.lockfile_path": str(state)}  # the only folder that it may write to
    return php(program, "-S", f"127.0.0.1:{port}", "-t", str(wiki(program)), **where, **locks)
