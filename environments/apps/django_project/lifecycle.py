"""Building, serving and putting back what a Django application holds."""

import json
from pathlib import Path
from typing import Any

from environments.apps.clock import BUILT, environment
from environments.apps.installing import python_of, run
from environments.apps.sqlite import restore_database

HERE = Path(__file__).parent
DJANGO = ("Django==5.2.19", "asgiref==3.13.0", "sqlparse==0.6.1")
DATABASE = "db.sqlite3"
COOKIES = {"sessionid": "elcanoagentofthismachine00000000"}


def build(program: Path, state: Path, application: Path, content: dict[str, Any]) -> None:
    """In the empty folder `state`, by the `project/filling.py` of this application's folder.

    Raises:
        UserError: it failed; the message is the last line of what it said.
    """
    run(
        f"{application.name} could not be filled",
        [str(python_of(program)), str(HERE / "fill.py"), str(application), str(state)],
        where=environment(program, BUILT, HOME=str(state.parent)),
        given=json.dumps({"content": content, "session": COOKIES["sessionid"]}),
        cwd=state,
    )


def command(program: Path, state: Path, application: Path, port: int) -> list[str]:
    """Of its server, which listens on this machine alone."""
    return [str(python_of(program)), str(HERE / "serve.py"), str(application), str(state), str(port)]


def restore(seed: Path, state: Path) -> None:
    """Its database through SQLite's own backup."""
    restore_database(seed / DATABASE, state / DATABASE)
