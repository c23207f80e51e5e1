"""What the encyclopedia tells."""

import dataclasses
import random
from collections.abc import Callable, Mapping

from environments.sites.words import Words

ARTICLES_PER_SHARE = 20
LINKS_PER_ARTICLE = 4
TABS = ("Statistics", "History")


@dataclasses.dataclass(frozen=True)
class Article:
    """`facts` stand in the infobox, `tabs` hold the facts that each tab fetches, `links` are titles of its split."""

    title: str
    kind: str
    split: str
    summary: str
    facts: dict[str, str]
    tabs: dict[str, dict[str, str]]
    links: list[str]


@dataclasses.dataclass(frozen=True)
class Encyclopedia:
    articles: dict[str, Article]

    def of(self, split: str) -> list[Article]:
        return [article for article in self.articles.values() if article.split == split]


def build(words: Words, shares: Mapping[str, int]) -> Encyclopedia:
    """What belongs to these splits."""
    articles = {}
    for split, share in shares.items():
        kinds = list(_KINDS) * (ARTICLES_PER_SHARE * share // len(_KINDS))
        titles = {_KINDS[kind].title(words): kind for kind in kinds}
        for title, kind in titles.items():
            others = [other for other in titles if other != title]
            links = words.rng.sample(others, LINKS_PER_ARTICLE)
            articles[title] = _write(words.rng, title, kind, split, links)
    return Encyclopedia(articles)


def _write(rng: random.Random, title: str, kind: str, split: str, links: list[str]) -> Article:
    how = _KINDS[kind]
    tabs = {tab: {label: value(rng) for label, value in how.tabs[tab].items()} for tab in TABS}
    facts = {label: value(rng) for label, value in how.facts.items()}
    return Article(title, kind, split, how.summary, facts, tabs, links)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """How articles of a kind are made: every label has a way to draw its value."""

    title: Callable[[Words], str]
    summary: str
    facts: dict[str, Callable[[random.Random], str]]
    tabs: dict[str, dict[str, Callable[[random.Random], str]]]


def _number(low: int, high: int, unit: str = "") -> Callable[[random.Random], str]:
    return lambda rng: f"{rng.randint(low, high)} {unit}".strip()


def _choice(options: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(options.split())


_KINDS = {
    "Towns": _Kind(
        title=lambda words: words.made_up(),
        summary="A small town in a wide valley, known for its market and its old harbour walls.",
        facts={
            "Population": _number(1000, 9999),
            "Founded": _number(1100, 1899),
            "Area": _number(11, 99, "km"),
            "Region": _choice("north south east west"),
        },
        tabs={
            "Statistics": {"Households": _number(200, 999), "Rainfall": _number(20, 99, "mm")},
            "History": {"Flood": _number(1500, 1899), "Railway": _number(1840, 1920)},
        },
    ),
    "People": _Kind(
        title=lambda words: words.person(),
        summary="Remembered for long journeys on foot and for many letters about them.",
        facts={
            "Born": _number(1700, 1960),
            "Occupation": _choice("painter sailor botanist composer architect teacher poet baker"),
            "Children": _number(2, 9),
            "Height": _number(150, 199, "cm"),
        },
        tabs={
            "Statistics": {"Letters": _number(100, 999), "Journeys": _number(11, 99)},
            "History": {"Schooling": _number(1700, 1960), "Award": _number(1750, 1990)},
        },
    ),
    "Birds": _Kind(
        title=lambda words: f"{words.made_up()} Finch",
        summary="A songbird of open woodland that builds its nest close to running water.",
        facts={
            "Length": _number(11, 40, "cm"),
            "Weight": _number(11, 99, "g"),
            "Plumage": _choice("grey brown green yellow white black"),
            "Eggs": _number(2, 9),
        },
        tabs={
            "Statistics": {"Sightings": _number(100, 999), "Lifespan": _number(3, 20, "years")},
            "History": {"Described": _number(1750, 1900), "Protected": _number(1920, 1999)},
        },
    ),
    "Bridges": _Kind(
        title=lambda words: f"{words.made_up()} Bridge",
        summary="A road bridge with stone arches, rebuilt twice after high water.",
        facts={
            "Span": _number(40, 99, "m"),
            "Opened": _number(1800, 1999),
            "Material": _choice("stone steel concrete timber iron brick"),
            "Lanes": _number(2, 8),
        },
        tabs={
            "Statistics": {"Traffic": _number(1000, 9999), "Cost": _number(11, 99, "million")},
            "History": {"Repaired": _number(1900, 1999), "Designed": _number(1780, 1950)},
        },
    ),
}
KINDS = tuple(_KINDS)
