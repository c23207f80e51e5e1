"""Fava's own web server. Nobody logs in to it."""

from pathlib import Path

from environments.apps.installing import python_of

LEDGER = "ledger.beancount"
COOKIES: dict[str, str] = {}
START = "/bicycle-workshop/income_statement/"


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    serve = Path(__file__).with_name("serve.py")
    return [str(python_of(program)), str(serve), str(state / LEDGER), str(port)]
