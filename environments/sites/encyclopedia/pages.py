"""What a reader of the encyclopedia sees."""

import dataclasses

from starlette.responses import HTMLResponse, Response

from environments.sites import markup as m
from environments.sites.encyclopedia.content import KINDS, TABS, Article, Encyclopedia
from environments.sites.visits import Handler, Visit, go_to, matches, paginate
from environments.sites.words import FILLER

BRAND = "Almanac"
PAGE_SIZE = 14


@dataclasses.dataclass
class State:
    """Reading changes nothing."""


class Pages:
    """The encyclopedia's pages over its content."""

    def __init__(self, encyclopedia: Encyclopedia):
        self.articles = encyclopedia.articles
        self.featured = encyclopedia.of(FILLER)

    def pages(self) -> dict[str, Handler]:
        return {"/": self.home, "/search": self.search, "/topic/{kind}": self.topic, "/article/{title}": self.article}

    def late(self) -> dict[str, Handler]:
        return {"/tab/{title}/{tab}": self.tab}

    def home(self, visit: Visit) -> str:
        lead = self.featured[0]
        welcome = m.title("Welcome") + m.text(f"An encyclopedia of {len(self.articles)} articles")
        topics = "".join(m.box(m.link(kind, m.url(f"/topic/{kind}")), "") for kind in KINDS)
        main = m.box(welcome, "hero") + m.heading("Topics") + m.box(topics, "boards")
        main += m.heading("Article of the day") + _article_link(lead.title) + m.text(lead.summary)
        more = "".join(_article_link(article.title) for article in self.featured[1:7])
        return _page("Main page", main + m.heading("Recently changed") + m.box(more, "links"))

    def search(self, visit: Visit) -> str | Response:
        query = visit.fields.get("q", "").strip()
        exact = [title for title in self.articles if title.lower() == query.lower()]
        if exact:
            return go_to(m.url(f"/article/{exact[0]}"))
        found, page, num_pages = paginate(matches(query, self.articles), visit.number("page"), PAGE_SIZE)
        results = "".join(map(_article_link, found)) if found else m.text("No articles found")
        main = m.title("Search results") + m.box(results, "links") + m.pager(page, num_pages, "/search", q=query)
        return _page("Search results", main)

    def topic(self, visit: Visit) -> str | Response:
        kind = visit.path["kind"]
        if kind not in KINDS:
            return _missing()
        titles = sorted(article.title for article in self.articles.values() if article.kind == kind)
        shown, page, num_pages = paginate(titles, visit.number("page"), PAGE_SIZE)
        links = m.box("".join(map(_article_link, shown)), "links")
        return _page(kind, m.title(kind) + links + m.pager(page, num_pages, f"/topic/{kind}"))

    def article(self, visit: Visit) -> str | Response:
        article = self.articles.get(visit.path["title"])
        if article is None:
            return _missing()
        overview = _tab("Overview", article, selected=True)
        tabs = overview + "".join(_tab(name, article, selected=False) for name in TABS)
        infobox = m.box(m.picture(article.title) + m.facts(article.facts), "infobox")
        body = f'<div id="panel" role="tabpanel">{_overview(article)}</div>{infobox}'
        main = f'{m.title(article.title)}<div role="tablist">{tabs}</div>{m.box(body, "article")}'
        return _page(article.title, main)

    def tab(self, visit: Visit) -> str:
        article = self.articles.get(visit.path["title"])
        if article is None:
            return ""
        if visit.path["tab"] == "Overview":
            return _overview(article)
        return m.facts(article.tabs.get(visit.path["tab"], {}))


def _page(title: str, main: str) -> str:
    return m.document("encyclopedia", BRAND, title, m.logo(BRAND) + m.search_box("Search articles"), main)


def _overview(article: Article) -> str:
    links = "".join(map(_article_link, article.links))
    return m.text(article.summary) + m.heading("See also") + m.box(links, "links")


def _tab(name: str, article: Article, selected: bool) -> str:
    source = m.url(f"/tab/{article.title}/{name}")
    return f'<button role="tab" aria-selected="{str(selected).lower()}" data-source="{source}">{name}</button>'


def _article_link(title: str) -> str:
    return m.link(title, m.url(f"/article/{title}"))


def _missing() -> Response:
    return HTMLResponse(_page("Not found", m.text("There is no such article")), 404)
