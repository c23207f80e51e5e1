"""What may be looked up on the web."""

from environments.sites.encyclopedia.content import TABS
from environments.touch.expert.rules import Rule, choose, further, in_app, on, search, tap, tell
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import web


def _draw_fact(source: Source) -> Slots:
    article = source.rng.choice(web().encyclopedia.of(source.split))
    return {"article": article.title, "attribute": source.rng.choice(list(article.facts))}


def _draw_tab(source: Source) -> Slots:
    article, tab = source.rng.choice(web().encyclopedia.of(source.split)), source.rng.choice(TABS)
    return {"article": article.title, "tab": tab, "attribute": source.rng.choice(list(article.tabs[tab]))}


def _draw_thread(source: Source) -> Slots:
    return {"thread": source.rng.choice(web().forum.of(source.split)).title}


def find(title: str, fact: str, *rules: Rule) -> Rule:
    """`rules` on the page of this title, found by a search, and scrolled until one of them applies."""
    start = on("Start page", search("Search the web", title))
    return in_app("Browser", on(title, *rules, further(fact)), on("Results", tap(title)), start)


FAMILIES = (
    Family(
        "browser-views",
        1,
        ('How many views has the thread "{thread}" on the web?', 'Search the web for "{thread}" and tell its views.'),
        _draw_thread,
        lambda thread: find(thread, "Views", tell("Views")),
        say=lambda phone, slots: str(web().forum.threads[slots["thread"]].num_views),
    ),
    Family(
        "browser-fact",
        1,
        ('Search the web for "{article}" and tell its "{attribute}".',),
        _draw_fact,
        lambda article, attribute: find(article, attribute, tell(attribute)),
        say=lambda phone, slots: web().encyclopedia.articles[slots["article"]].facts[slots["attribute"]],
    ),
    Family(
        "browser-tab",
        2,
        ('Search the web for "{article}" and tell from its tab "{tab}" the "{attribute}".',),
        _draw_tab,
        lambda article, tab, attribute: find(article, attribute, tell(attribute), choose(tab)),
        say=lambda phone, slots: web().encyclopedia.articles[slots["article"]].tabs[slots["tab"]][slots["attribute"]],
    ),
)
