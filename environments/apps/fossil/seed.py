"""A new Fossil repository with our content (`content.py`), as artifacts that Fossil reads by itself."""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from environments.apps.clock import BUILT, environment
from environments.apps.fossil import artifacts, content
from environments.apps.fossil.start import COOKIES, PROJECT, REPOSITORY
from environments.apps.installing import debian_program, run

CONTENT = ("artifacts.py", "check.py", "content.py", "seed.py")
RIGHTS = "hjorkfmncwz"  # reads all, writes the wiki and tickets; no check-ins, no settings
_MENU = "Timeline /timeline * {}\nTickets /rptview/1 * {}\nWiki /wcontent * {}\nFiles /dir?ci=tip * {}\n"
_SETTINGS = {
    "project-code": PROJECT,
    "server-code": PROJECT[::-1],
    "mainmenu": _MENU + "Releases /taglist * {}\nSearch /search * {}\n",
    "search-tkt": "1",
    "search-wiki": "1",
    "search-ci": "1",
    "sitemap-extra": "",
    "access-log": "0",
    "admin-log": "0",
}


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: Fossil failed.
    """
    repository = state / REPOSITORY
    new = [
        "new",
        "--admin-user",
        content.ADMINISTRATOR,
        "--project-name",
        content.NAME,
        "--date-override",
        "2025-01-02T09:00:00",
    ]
    _run(program, state, *new, str(repository))
    with contextlib.closing(sqlite3.connect(repository)) as connection, connection:
        _fill(connection)
    _run(program, state, "rebuild", str(repository))


def _fill(connection: sqlite3.Connection) -> None:
    [(first,)] = connection.execute("SELECT uuid FROM blob WHERE rid IN (SELECT objid FROM event)")
    blobs = dict(_blobs(content.make(), first))
    rows = [(len(text), key, artifacts.compressed(text)) for key, text in blobs.items()]
    connection.executemany("INSERT INTO blob (rcvid, size, uuid, content) VALUES (1, ?, ?, ?)", rows)
    connection.executemany("REPLACE INTO config (name, value, mtime) VALUES (?, ?, 0)", _SETTINGS.items())
    connection.execute("UPDATE user SET cap = '', pw = 'nobody logs in by this'")
    connection.execute("UPDATE user SET cap = 'hjor' WHERE login = 'nobody'")  # who reads without a login
    key = next(iter(COOKIES.values())).partition("/")[0]
    for name in content.PEOPLE:
        login = (key, 9e6) if name == content.AGENT else ("", 0)  # a day later than any clock here
        user = (name, "nobody logs in by this", RIGHTS if name == content.AGENT else "", *login)
        connection.execute("INSERT INTO user (login, pw, cap, cookie, cexpire, info) VALUES (?, ?, ?, ?, ?, '')", user)


def _blobs(made: content.Content, parent: str) -> Iterator[artifacts.Blob]:
    for number, change in enumerate(made.changes):
        yield from (artifacts.stored(text.encode()) for text in change.files.values())
        when = f"2025-{number + 2:02}-10T10:00:00"
        blob = artifacts.check_in(when, change.user, change.comment, change.files, parent, change.release)
        parent = blob[0]
        yield blob
    for number, fields in enumerate(made.tickets, start=1):
        given = {name: value for name, value in fields.items() if name != "user"}
        when = f"2025-{3 + number % 9:02}-{1 + number % 28:02}T11:{number:02}:00"
        yield artifacts.ticket(when, fields["user"], ticket_key(fields["title"]), given)
    for number, (name, (user, text)) in enumerate(made.pages.items()):
        yield artifacts.page(f"2025-12-{number + 1:02}T12:00:00", user, name, text)


def ticket_key(title: str) -> str:
    """By which Fossil knows a ticket of ours."""
    return hashlib.sha1(title.encode()).hexdigest()


def _run(program: Path, state: Path, *words: str) -> None:
    where = environment(program, BUILT, HOME=str(state), USER=content.ADMINISTRATOR)
    run("Fossil could not be filled", [*debian_program(program, "fossil"), *words], where, cwd=state)
    for settings in state.glob(".fossil*"):
        settings.unlink()
