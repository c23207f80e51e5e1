"""hledger-web's own web server. Nobody logs in to it, and it lets nobody edit the journal as a file."""

from pathlib import Path

from environments.apps.installing import debian_program

JOURNAL = "theater.journal"
COOKIES: dict[str, str] = {}
START = "/journal"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone. Without the right to `manage`, a journal can't be made to include other files."""
    options = ("--serve", "--host", "127.0.0.1", "--port", str(port), "--capabilities", "view,add")
    where = ("--base-url", address.removesuffix(START), "--file", str(state / JOURNAL))
    return [*debian_program(program, "hledger-web"), *options, *where]
