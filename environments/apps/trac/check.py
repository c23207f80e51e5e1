"""What a Trac holds, as records: everything that an agent can change, without times and without its own caches."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.sqlite import rows

TICKET = (
    *("summary", "type", "component", "priority", "milestone", "version", "owner", "reporter", "status", "resolution"),
    *("keywords", "cc", "description"),
)
_QUERIES = {
    "ticket": f"SELECT id, {', '.join(TICKET)} FROM ticket",
    "comment": "SELECT ticket, author, newvalue AS text FROM ticket_change WHERE field = 'comment' AND newvalue != ''",
    "page": "SELECT name, max(version) AS version, author, text, readonly FROM wiki GROUP BY name",
    "milestone": "SELECT name, due, completed, description FROM milestone",
    "component": "SELECT name, owner, description FROM component",
    "version": "SELECT name, description FROM version",
    "choice": "SELECT type, name, value FROM enum",
    "report": "SELECT id, title, query, description FROM report",
    "attachment": "SELECT type, id, filename, size FROM attachment",
    "right": "SELECT username, action FROM permission",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    database = state / "db" / "trac.db"
    return [record for kind, query in _QUERIES.items() for record in rows(database, kind, query)]


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
