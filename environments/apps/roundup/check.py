"""What a Roundup holds, as records, without times. Lists of who is told of a bug are its own bookkeeping."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.sqlite import rows


def _name(column: str, table: str, name: str = "_name") -> str:
    return f"(SELECT {name} FROM {table} AS other WHERE other.id = item.{column})"


def _names(link: str, table: str, name: str = "_name") -> str:
    joined = f"{table} AS other JOIN {link} ON linkid = other.id"
    ordered = f"SELECT {name} AS name FROM {joined} WHERE nodeid = item.id ORDER BY 1"
    return f"(SELECT group_concat(name, ', ') FROM ({ordered}))"


_BUG = f"""
SELECT id, _title AS title, {_name("_type", "_bug_type")} AS type, {_name("_severity", "_severity")} AS severity,
{_name("_priority", "_priority")} AS priority, {_name("_status", "_status")} AS status,
{_name("_resolution", "_resolution")} AS resolution, {_name("_assignee", "_user", "_username")} AS assignee,
{_name("_creator", "_user", "_username")} AS creator, {_names("bug_components", "_component")} AS components,
{_names("bug_versions", "_version")} AS versions, {_names("bug_keywords", "_keyword")} AS keywords,
{_names("bug_dependencies", "_bug", "_title")} AS dependencies, _superseder AS superseder, __retired__ AS retired
FROM _bug AS item
"""
_QUERIES = {
    "bug": _BUG,
    "task": "SELECT id, _title AS title, _status AS status, _priority AS priority, __retired__ AS retired FROM _task",
    "milestone": "SELECT id, _title AS title, _status AS status, __retired__ AS retired FROM _milestone",
    "message": "SELECT id, _author AS author, _summary AS summary, __retired__ AS retired FROM _msg",
    "keyword": "SELECT id, _name AS name, __retired__ AS retired FROM _keyword",
    "query": "SELECT id, _name AS name, _url AS url, __retired__ AS retired FROM _query",
    "file": "SELECT id, _name AS name, __retired__ AS retired FROM _file",
    "user": "SELECT id, _username AS username, _realname AS realname, _address AS address, _phone AS phone, "
    "_organisation AS organisation, _roles AS roles, _timezone AS timezone, __retired__ AS retired FROM _user",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    database = state / "db" / "db"
    return [record for kind, query in _QUERIES.items() for record in rows(database, kind, query)]


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
