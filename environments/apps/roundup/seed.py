"""A new Roundup with our content (`content.py`)."""

import dataclasses
import json
from pathlib import Path

from environments.apps.clock import BUILT, environment
from environments.apps.installing import python_of, run
from environments.apps.roundup import content
from environments.apps.roundup.start import COOKIES

CONTENT = ("content.py", "fill.py", "seed.py")
_SETTINGS = {
    "tracker_name": "Observatory",
    "tracker_web": "http://127.0.0.1/",  # start.py puts the real one in its place
    "mail_domain": "example.org",
    "admin_email": "admin@example.org",
    "mail_debug": "mail.log",  # nothing is sent
    "web_secret_key": "A" * 43 + "=",
    "web_registration_delay": "0",
}


def build(program: Path, state: Path, skin: str = "responsive") -> None:
    """In the empty folder `state`; `skin`: one with the same fields, responsive or devel.

    Raises:
        UserError: Roundup's own programs failed.
    """
    given = {
        **dataclasses.asdict(content.make()),
        "people": content.PEOPLE,
        "agent": content.AGENT,
        "cookie": next(iter(COOKIES.values())),
        "secret": "nobody logs in by this",
        "settings": _SETTINGS,
    }
    fill, template = Path(__file__).with_name("fill.py"), program / "share" / "roundup" / "templates" / skin
    command = [str(python_of(program)), str(fill), str(state), str(template)]
    run("Roundup could not be filled", command, environment(program, BUILT), json.dumps(given), state.parent)
