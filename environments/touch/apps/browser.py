"""Browser: a search over the embedded websites, which open as they are, at their own addresses."""

from environments.sites.markup import url
from environments.sites.visits import Visit, matches
from environments.touch import markup as m
from environments.touch.phone import Phone, web
from environments.touch.session import Show

NAME = "Browser"


def screens(port: int) -> dict[str, Show]:
    """`port` is where the websites answer."""

    def results(visit: Visit, phone: Phone) -> str:
        query = visit.fields.get("q", "")
        lines = [
            m.row(name, f"http://{site}.localhost:{port}{path}", f"{site}.localhost")
            for name, (site, path) in pages_found(query).items()
        ]
        return m.page(
            NAME, "Results", m.search("Search the web", "/browser/search", query) + m.rows(lines, "No results")
        )

    return {"/browser": _start, "/browser/search": results}


def _start(visit: Visit, phone: Phone) -> str:
    return m.page(NAME, "Start page", m.search("Search the web", "/browser/search"))


def pages_found(query: str) -> dict[str, tuple[str, str]]:
    """Website and path by title, of pages whose title holds every word of it."""
    content = web()
    titles = {
        **{name: ("encyclopedia", url(f"/article/{name}")) for name in content.encyclopedia.articles},
        **{name: ("shop", url(f"/product/{name}")) for name in content.shop.products},
        **{name: ("forum", url(f"/thread/{name}")) for name in content.forum.threads},
    }
    return {name: titles[name] for name in matches(query, titles)}
