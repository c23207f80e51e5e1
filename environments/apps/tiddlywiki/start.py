"""TiddlyWiki's own web server. Nobody logs in to it; whoever writes is Ana."""

from pathlib import Path

from environments.apps.installing import node_of
from environments.apps.tiddlywiki.install import wiki

AGENT = "Ana"
CONTROL = "control"  # a socket in the state, see serve.js
COOKIES: dict[str, str] = {}
START = "/"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    node = (str(node_of(program)), "--openssl-config=/dev/null")  # the machine's own is none of its business
    serve = Path(__file__).with_name("serve.js")
    return [*node, str(serve), str(wiki(program)), str(state), str(port), AGENT, CONTROL]
