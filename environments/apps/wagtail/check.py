"""What a website holds, as records: all that its editors can change, without times of saving. Earlier versions, the log
and the redirects that Wagtail makes itself are its own bookkeeping."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.django_project.lifecycle import DATABASE
from environments.apps.sqlite import rows

_BEGIN = "2026-01-15"
"""What is made later counts by what it says: which number it gets depends on what was made before."""
OF_TYPE = {
    "section": ("introduction",),
    "article": ("summary", "body", "author", "category"),
    "event": ("place", "day", "details"),
}
_OF_ALL = ("title", "slug", "show_in_menus", "seo_title", "search_description", "go_live_at", "expire_at")
_NUMBERED = ("author", "category")
"""Fields that hold the number of a person or a category."""


def _page_query(type: str) -> str:
    fields = ", ".join(f"own.{name}{'_id' if name in _NUMBERED else ''} AS {name}" for name in OF_TYPE[type])
    seeded = f"object_id = CAST(page.id AS TEXT) AND created_at < '{_BEGIN}'"
    return f"""
SELECT CASE WHEN EXISTS (SELECT 1 FROM wagtailcore_revision WHERE {seeded}) THEN page.id ELSE 'new' END AS id,
above.title AS parent, page.live, page.has_unpublished_changes, page.locked, newest.content,
EXISTS (SELECT 1 FROM wagtailcore_revision WHERE object_id = CAST(page.id AS TEXT) AND approved_go_live_at IS NOT NULL)
AS waits, {", ".join(f"page.{name}" for name in _OF_ALL)}, {fields}
FROM project_{type}page AS own JOIN wagtailcore_page AS page ON page.id = page_ptr_id
LEFT JOIN wagtailcore_page AS above ON above.path = substr(page.path, 1, length(page.path) - 4)
LEFT JOIN wagtailcore_revision AS newest ON newest.id = page.latest_revision_id ORDER BY page.id
"""


_QUERIES = {
    "person": "SELECT name, office, phone FROM project_person ORDER BY name",
    "category": "SELECT name, description FROM project_category ORDER BY name",
    "redirect": "SELECT old_path, redirect_page_id AS page, redirect_link AS link, redirect_page_route_path AS route, "
    "is_permanent, site_id AS site FROM wagtailredirects_redirect WHERE NOT automatically_created ORDER BY old_path",
    "comment": "SELECT page_id AS page, text, contentpath AS field FROM wagtailcore_comment",
    "restriction": "SELECT page_id AS page, restriction_type AS type FROM wagtailcore_pageviewrestriction",
    "workflow": "SELECT object_id AS page, status FROM wagtailcore_workflowstate",
    "site": "SELECT hostname, port, site_name AS name FROM wagtailcore_site",
    "user": "SELECT username AS name, first_name, last_name, email, is_active, is_staff, is_superuser, "
    "substr(password, 1, 1) AS password FROM auth_user ORDER BY id",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`. A page that is not published is what was saved last; of one that is, changes that wait are a
    record of their own."""
    database = state / DATABASE
    names = {
        field: {one["id"]: one["name"] for one in rows(database, "", f"SELECT id, name FROM project_{table}")}
        for field, table in (("author", "person"), ("category", "category"))
    }
    pages = [
        record
        for type in OF_TYPE
        for row in rows(database, "", _page_query(type))
        for record in _page(type, row, names)
    ]
    return pages + [record for kind, query in _QUERIES.items() for record in rows(database, kind, query)]


def _page(type: str, row: dict[str, Any], names: dict[str, dict[Any, str]]) -> list[dict[str, Any]]:
    saved = json.loads(row["content"])
    known = {"id": row["id"], "type": type, "parent": row["parent"]}
    status = "live" if row["live"] else "scheduled" if row["waits"] else "draft"
    about = {"kind": "page", **known, "status": status, "locked": _yes(row["locked"])}
    page = {**about, **_fields(type, row if row["live"] else saved, names)}
    if row["live"] and row["has_unpublished_changes"]:
        return [page, {"kind": "changes", **known, **_fields(type, saved, names)}]
    return [page]


def _fields(type: str, held: dict[str, Any], names: dict[str, dict[Any, str]]) -> dict[str, str]:
    """Of a row or of a saved version, which say the same in their own ways."""
    fields = {name: "" if held[name] is None else held[name] for name in (*_OF_ALL, *OF_TYPE[type])}
    fields |= {name: names[name].get(fields[name], "") for name in _NUMBERED if name in fields}
    fields["show_in_menus"] = _yes(fields["show_in_menus"])
    fields |= {name: fields[name].replace("T", " ")[:16] for name in ("go_live_at", "expire_at")}
    return {name: value.replace("\r", "").strip("\n ") for name, value in fields.items()}


def _yes(value: Any) -> str:
    return "yes" if value else "no"


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
