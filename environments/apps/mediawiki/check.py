"""What a MediaWiki holds, as records, without times: pages, what they were at the beginning, who watches what."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from environments.apps.mediawiki.settings import DATABASE
from environments.apps.sqlite import rows

_BEGIN = "20260115000000"
"""Before the first server started; later versions count by what they leave on their page."""
_NAMESPACES = {
    **{0: "", 1: "Talk:", 2: "User:", 3: "User talk:", 4: "Project:", 5: "Project talk:", 6: "File:", 7: "File talk:"},
    **{8: "MediaWiki:", 9: "MediaWiki talk:", 10: "Template:", 11: "Template talk:", 12: "Help:", 13: "Help talk:"},
    **{14: "Category:", 15: "Category talk:"},
}
_NAMES = " ".join(f"WHEN {number} THEN '{name}'" for number, name in _NAMESPACES.items())
_TEXT = """
(SELECT old_text FROM slots JOIN content ON content_id = slot_content_id JOIN text ON 'tt:' || old_id = content_address
WHERE slot_revision_id = rev_id)
"""
_USER = "(SELECT actor_name FROM actor WHERE actor_id = rev_actor)"
_HISTORY = f"""
(SELECT group_concat(rev_id, ' ') FROM (
SELECT rev_id FROM revision WHERE rev_page = page_id AND rev_timestamp < '{_BEGIN}' ORDER BY rev_id))
"""


def _title(table: str) -> str:
    return f"CASE {table}_namespace {_NAMES} END || replace({table}_title, '_', ' ') AS title"


_QUERIES = {
    "page": f"SELECT {_title('page')}, {_USER} AS editor, {_TEXT} AS text, {_HISTORY} AS history "
    "FROM page JOIN revision ON rev_id = page_latest ORDER BY page_id",
    "version": f"SELECT rev_id AS number, {_USER} AS user, {_TEXT} AS text, "
    "(SELECT comment_text FROM comment JOIN revision_comment_temp ON revcomment_comment_id = comment_id "
    "WHERE revcomment_rev = rev_id) AS summary "
    f"FROM revision WHERE rev_timestamp < '{_BEGIN}' ORDER BY rev_id",
    "deleted": f"SELECT {_title('ar')} FROM archive",
    "protected": f"SELECT {_title('page')}, pr_type AS type, pr_level AS level FROM page_restrictions "
    "JOIN page ON page_id = pr_page",
    "watched": f"SELECT {_title('wl')}, user_name AS user FROM watchlist JOIN user ON user_id = wl_user "
    "WHERE wl_namespace % 2 = 0",  # the discussion of a page is watched with it
    "user": "SELECT user_name AS name, user_real_name AS real_name, user_email AS email, "
    "(SELECT group_concat(ug_group) FROM user_groups WHERE ug_user = user_id) AS groups FROM user",
    "option": "SELECT user_name AS user, up_property AS name, up_value AS value FROM user_properties "
    "JOIN user ON user_id = up_user",
    "file": "SELECT img_name AS name FROM image",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    database = state / DATABASE
    found = [record for kind, query in _QUERIES.items() for record in rows(database, kind, query)]
    return [
        {name: value.decode().strip() if isinstance(value, bytes) else value for name, value in record.items()}
        for record in found
    ]


def place(url: str) -> str:
    """What a page is about: the title, and what is done there if it is not only read."""
    address = urlsplit(url)
    asked = dict(parse_qsl(address.query))
    title = asked.get("title") or unquote(address.path).removeprefix("/index.php").strip("/")
    action = asked.get("action", "view")
    other = [f"{name}={asked[name]}" for name in ("oldid", "diff") if name in asked]
    return "?".join(["/" + title.replace("_", " "), *([] if action == "view" else [action]), *other])
