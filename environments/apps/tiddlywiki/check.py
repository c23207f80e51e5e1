"""What a TiddlyWiki holds, as records, without times and names of authors. What is not saved yet counts for nothing."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.tiddlywiki.snapshot import FOLDER, ask

_NOT_COMPARED = ("created", "creator", "modified", "modifier", "revision", "bag")
_NEVER_COMPARED = ("$:/StoryList", "$:/HistoryList")
_LISTED = re.compile(r"\[\[(.*?)\]\](?=\s|$)|(\S+)")


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`: pages, and settings, which are pages with a name of their own kind."""
    ask(state, "flush")
    found = [fields for path in sorted((state / FOLDER).iterdir()) for fields in _read(path)]
    return [
        record(fields) for fields in found if "draft.of" not in fields and fields.get("title") not in _NEVER_COMPARED
    ]


def record(fields: dict[str, str]) -> dict[str, Any]:
    """Of a page's fields."""
    title = fields.get("title", "")
    kept = {name: value for name, value in fields.items() if name not in _NOT_COMPARED and value != ""}
    tags = ", ".join(sorted(listed(fields.get("tags", ""))))
    text = fields.get("text", "").strip()
    kind = "setting" if title.startswith("$:/") else "page"
    return {**kept, "kind": kind, "title": title, "tags": tags, "text": text}


def listed(text: str) -> list[str]:
    """The titles in a list as TiddlyWiki writes it."""
    return [match[1] or match[2] for match in _LISTED.finditer(text)]


def written(titles: Iterable[str]) -> str:
    """The list of these titles as TiddlyWiki writes it."""
    return " ".join(f"[[{title}]]" if " " in title else title for title in titles)


def _read(path: Path) -> Iterator[dict[str, str]]:
    """Pages of a file: its own format, JSON, or another one with its fields in a file beside it."""
    if path.suffix == ".tid":
        head, _, text = path.read_text().partition("\n\n")
        yield {**_fields(head), "text": text}
    elif path.suffix == ".json" and not path.with_name(f"{path.name}.meta").exists():
        yield from json.loads(path.read_text())
    elif path.suffix == ".meta":
        text = path.with_suffix("").read_text(errors="replace")
        yield {**_fields(path.read_text()), "text": text}


def _fields(head: str) -> dict[str, str]:
    parts = (line.partition(":") for line in head.splitlines())
    return {name.strip(): value.strip() for name, colon, value in parts if colon}


def place(url: str) -> str:
    """What is in front: the title of the page that was opened last."""
    title = unquote(urlsplit(url).fragment.partition(":")[0])
    return f"/{title}" if title else "/"
