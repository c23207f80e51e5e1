"""Pages with their histories in the format that MediaWiki itself writes and reads."""

from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape

from environments.apps.mediawiki.content import Version

_BEGIN = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
_NAMESPACES = {"Talk": 1, "Category": 14}


def dumped(pages: dict[str, list[Version]]) -> str:
    """An hour lies between two versions, in the order of the pages."""
    hours = iter(range(10_000))
    body = "".join(_page(title, [(next(hours), one) for one in versions]) for title, versions in pages.items())
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">{body}</mediawiki>'
    )


def _page(title: str, versions: list[tuple[int, Version]]) -> str:
    namespace = _NAMESPACES.get(title.partition(":")[0], 0)
    body = "".join(_revision(hour, version) for hour, version in versions)
    return f"<page><title>{escape(title)}</title><ns>{namespace}</ns>{body}</page>"


def _revision(hour: int, version: Version) -> str:
    when = (_BEGIN + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
    summary = f"<comment>{escape(version.summary)}</comment>" if version.summary else ""
    form = "<model>wikitext</model><format>text/x-wiki</format>"
    text = f'<text bytes="{len(version.text.encode())}" xml:space="preserve">{escape(version.text)}</text>'
    user = f"<contributor><username>{version.user}</username></contributor>"
    return f"<revision><timestamp>{when}</timestamp>{user}{summary}{form}{text}</revision>"
