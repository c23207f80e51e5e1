"""A new MediaWiki with our content (`content.py`)."""

import contextlib
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environments.apps.clock import BUILT, environment
from environments.apps.installing import run
from environments.apps.mediawiki import content
from environments.apps.mediawiki.dump import dumped
from environments.apps.mediawiki.install import wiki
from environments.apps.mediawiki.settings import DATABASE, LOCAL_SETTINGS, NAME
from environments.apps.mediawiki.start import AGENT_ID, TOKEN
from environments.apps.mediawiki.warm import warm
from environments.apps.php import php

CONTENT = ("check.py", "content.py", "dump.py", "seed.py", "settings.py", "warm.py")
_FOUNDED = "20250101090000"
_CLEARED = ("recentchanges", "logging", "module_deps")
"""What is not kept of the building: what stands in the lists of the newest changes."""


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`.

    Raises:
        UserError: one of MediaWiki's own programs failed.
    """
    (state / "cache").mkdir()
    password = f"--pass={secrets.token_hex(16)}"  # nobody logs in by this
    where = ("--dbtype=sqlite", "--dbname=wiki", f"--dbpath={state}", f"--confpath={state}", "--scriptpath=")
    _run(program, state, "install.php", *where, "--server=http://127.0.0.1", password, NAME, content.ADMINISTRATOR)
    for unused in state.glob("wiki_*.sqlite"):
        unused.unlink()
    (state / "LocalSettings.php").write_text(LOCAL_SETTINGS)
    made = content.make()
    _open(state / DATABASE, _people)
    dump = state / "dump.xml"
    dump.write_text(dumped(made.pages))
    _run(program, state, "rebuildLocalisationCache.php", "--lang=en", "--quiet")
    _run(program, state, "importDump.php", str(dump))
    dump.unlink()
    _run(program, state, "runJobs.php")
    _run(program, state, "rebuildtextindex.php")
    _run(program, state, "initSiteStats.php", "--update")
    _open(state / DATABASE, lambda connection: _finish(connection, made))
    warm(program, state)


def _people(connection: sqlite3.Connection) -> None:
    """The agent's number is known. The page that a new wiki begins with is older than ours."""
    connection.execute("UPDATE revision SET rev_timestamp = ?", (_FOUNDED,))
    for number, name in enumerate(content.PEOPLE, start=AGENT_ID):
        token = TOKEN if name == content.AGENT else secrets.token_hex(16)
        user = {"user_id": number, "user_name": name, "user_token": token, "user_registration": _FOUNDED}
        empty = dict.fromkeys(("user_password", "user_newpassword", "user_email"), "")
        _insert(connection, "user", {**user, **empty, "user_touched": _FOUNDED})
        _insert(connection, "actor", {"actor_user": number, "actor_name": name})


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    places = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))


def _finish(connection: sqlite3.Connection, made: content.Content) -> None:
    for title in made.watched:
        for namespace in (0, 1):
            watched = {"wl_user": AGENT_ID, "wl_namespace": namespace, "wl_title": title.replace(" ", "_")}
            _insert(connection, "watchlist", watched)
    rules = (content.RULES.replace(" ", "_"),)
    [(page,)] = connection.execute("SELECT page_id FROM page WHERE page_title = ?", rules)
    for kind in ("edit", "move"):
        level = {"pr_level": "sysop", "pr_cascade": 0, "pr_expiry": "infinity"}
        _insert(connection, "page_restrictions", {"pr_page": page, "pr_type": kind, **level})
    for table in _CLEARED:
        connection.execute(f"DELETE FROM {table}")


def _open(database: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        fill(connection)


def _run(program: Path, state: Path, script: str, *words: str) -> None:
    settings = state / "LocalSettings.php"
    known = {"MW_CONFIG_FILE": str(settings)} if settings.exists() else {}
    command = php(program, str(wiki(program) / "maintenance" / script), *words, **known)
    where = environment(program, BUILT, HOME=str(state))
    run(f"MediaWiki could not be filled by {script}", command, where, cwd=state)
