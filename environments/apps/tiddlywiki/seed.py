"""A wiki folder with our content (`content.py`), as TiddlyWiki itself lays it out."""

from pathlib import Path

from common.files import write_json
from environments.apps.tiddlywiki import content
from environments.apps.tiddlywiki.check import written
from environments.apps.tiddlywiki.snapshot import FOLDER

CONTENT = ("check.py", "content.py", "seed.py")
_PLUGINS = {
    "plugins": ["tiddlywiki/tiddlyweb", "tiddlywiki/filesystem"],
    "themes": ["tiddlywiki/vanilla", "tiddlywiki/snowwhite"],
}
_UNSENT = "-[[$:/StoryList]] -[has[draft.of]]"
_SYNCED = (
    "[is[tiddler]] -[[$:/core]] -[[$:/library/sjcl.js]] -[prefix[$:/boot/]] -[prefix[$:/HistoryList]] "
    "-[status[pending]plugin-type[import]] -[[$:/isEncrypted]] -[prefix[$:/status/]] -[prefix[$:/state/]] "
    f"-[prefix[$:/temp/]] {_UNSENT}"
)
_SETTINGS = {
    "$:/SiteTitle": content.NAME,
    "$:/SiteSubtitle": "what stands here, and what is to be done",
    "$:/DefaultTiddlers": f"[[{content.WELCOME}]]",
    "$:/config/Navigation/UpdateAddressBar": "permalink",  # the address says which page is in front
    "$:/config/Navigation/UpdateHistory": "yes",  # and the browser's way back leads to the one before
    "$:/config/SyncFilter": _SYNCED,  # which pages are open, and what is not saved yet, stays in the browser
    "$:/config/SyncThrottleInterval": "1",  # milliseconds: what is saved is sent at once
}
_CREATED = "20250302090000000"


def build(program: Path, state: Path) -> None:
    """In the empty folder `state`."""
    (state / FOLDER).mkdir()
    write_json(state / "tiddlywiki.info", {"description": content.NAME, **_PLUGINS})
    pages = [*content.make(), *(content.Page(title, text) for title, text in _SETTINGS.items())]
    for page in pages:
        name = page.title.replace(":", "_").replace("/", "_")
        (state / FOLDER / f"{name}.tid").write_text(_written(page))


def _written(page: content.Page) -> str:
    tags = written(page.tags)
    times = {"created": _CREATED, "creator": content.AUTHOR, "modified": _CREATED, "modifier": content.AUTHOR}
    fields = {**times, **({"tags": tags} if tags else {}), "title": page.title}
    return "\n".join(f"{name}: {value}" for name, value in fields.items()) + f"\n\n{page.text}"
