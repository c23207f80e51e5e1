"""What a Fossil holds, as records, without times: tickets with what was added to them, pages, check-ins, settings."""

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.fossil.artifacts import expanded
from environments.apps.fossil.start import REPOSITORY
from environments.apps.sqlite import rows

FIELDS = ("title", "type", "status", "severity", "priority", "resolution", "foundin", "subsystem", "comment")
_RELEASE = """
(SELECT substr(tagname, 13) FROM tagxref JOIN tag USING (tagid) WHERE rid = objid AND tagname LIKE 'sym-release-%')
"""
_QUERIES = {
    "ticket": f"SELECT {', '.join(FIELDS)} FROM ticket",
    "remark": "SELECT title, login, icomment AS text FROM ticketchng JOIN ticket USING (tkt_id) WHERE icomment != ''",
    "check-in": f"SELECT user, comment, {_RELEASE} AS release FROM event WHERE type = 'ci' ORDER BY event.mtime",
    "tag": "SELECT tagname, tagtype, value FROM tagxref JOIN tag USING (tagid) WHERE tagname LIKE 'sym-%'",
    "user": "SELECT login, cap, info FROM user",
    "attachment": "SELECT target, filename, user FROM attachment",
    "setting": "SELECT name, value FROM config WHERE name IN ('mainmenu', 'project-name', 'skin', 'css')",
    "report": "SELECT rn, title, sqlcode FROM reportfmt",
}
_PAGES = """
SELECT substr(tagname, 6), content FROM tag JOIN tagxref USING (tagid) JOIN blob USING (rid)
WHERE tagname LIKE 'wiki-%' AND mtime = (SELECT max(mtime) FROM tagxref AS other WHERE other.tagid = tag.tagid)
ORDER BY 1
"""


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    database = state / REPOSITORY
    found = [record for kind, query in _QUERIES.items() for record in rows(database, kind, query)]
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return found + [page(name, expanded(content).decode()) for name, content in connection.execute(_PAGES)]


def page(name: str, artifact: str) -> dict[str, Any]:
    """The record of a page out of its artifact."""
    cards, _, rest = artifact.partition("\nW ")
    size, _, text = rest.partition("\n")
    written = text.encode()[: int(size)].decode()
    return {"kind": "page", "name": name, "author": cards.rpartition("\nU ")[2], "text": written.strip()}


def place(url: str) -> str:
    """What a page is about: its path with what is named there. Of the key of a ticket the beginning is enough."""
    address = urlsplit(url)
    path = unquote(address.path).rstrip("/") or "/"
    if name := dict(parse_qsl(address.query)).get("name"):
        path = f"{path}/{name}"
    return re.sub(r"^(/tktview/[0-9a-f]{10})[0-9a-f]+$", r"\1", path)
