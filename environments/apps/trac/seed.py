"""A new Trac with our content (`content.py`) beside the wiki pages that its authors ship."""

import configparser
import dataclasses
import json
from pathlib import Path

from environments.apps.clock import BUILT, environment
from environments.apps.installing import python_of, run
from environments.apps.trac import content
from environments.apps.trac.start import COOKIES

CONTENT = ("content.py", "fill.py", "seed.py")
RIGHTS = ("TICKET_ADMIN", "WIKI_ADMIN", "MILESTONE_ADMIN")  # and none that reaches the machine
_FAILED = "Trac could not be filled"
_SETTINGS = {
    "project": {"name": "Ferry Services", "descr": "Tickets and notes of a ferry company", "footer": ""},
    "header_logo": {"src": "", "alt": ""},
    "ticket": {"restrict_owner": "true"},
    "components": {"trac.versioncontrol.*": "disabled", "trac.web.auth.loginmodule": "enabled"},
}


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: one of Trac's own commands failed.
    """
    python, where = str(python_of(program)), environment(program, BUILT)
    admin = "import sys; from trac.admin.console import run; sys.exit(run(sys.argv[1:]))"
    run(_FAILED, [python, "-c", admin, str(state), "initenv", "Ferry Services", "sqlite:db/trac.db"], where)
    _configure(state / "conf" / "trac.ini")
    given = {
        **dataclasses.asdict(content.make()),
        "versions": content.VERSIONS,
        "people": content.PEOPLE,
        "agent": content.AGENT,
        "rights": RIGHTS,
        "cookie": COOKIES["trac_auth"],
    }
    run(_FAILED, [python, str(Path(__file__).with_name("fill.py")), str(state)], where, json.dumps(given))
    for log in (state / "log").glob("*"):
        log.unlink()


def _configure(path: Path) -> None:
    settings = configparser.RawConfigParser()
    settings.read(path)
    for section, values in _SETTINGS.items():
        if not settings.has_section(section):
            settings.add_section(section)
        settings[section].update(values)
    with open(path, "w") as file:
        settings.write(file)
