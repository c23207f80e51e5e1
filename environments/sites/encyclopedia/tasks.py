"""What may be asked of a reader of the encyclopedia."""

import random
from collections.abc import Iterator

from environments.sites.encyclopedia.content import TABS, Article, Encyclopedia
from environments.sites.truth import Instance, answer, deal, demand, found


def instances(encyclopedia: Encyclopedia, split: str, count: int) -> dict[str, list[Instance]]:
    """`count` instances of every family, over articles of `split` only."""
    rng = random.Random(f"encyclopedia tasks {split}")
    articles = deal(encyclopedia.of(split), f"articles {split}")
    return {
        "Wiki-fact": [_fact(next(articles), rng) for _ in range(count)],
        "Wiki-tab": [_tab(next(articles), rng) for _ in range(count)],
        "Wiki-link": [_link(encyclopedia, articles, rng) for _ in range(count)],
    }


def _fact(article: Article, rng: random.Random) -> Instance:
    attribute, value = rng.choice(list(article.facts.items()))
    return Instance({"article": article.title, "attribute": attribute}, answer(value))


def _tab(article: Article, rng: random.Random) -> Instance:
    tab = rng.choice(TABS)
    attribute, value = rng.choice(list(article.tabs[tab].items()))
    return Instance({"article": article.title, "tab": tab, "attribute": attribute}, answer(value))


def _link(encyclopedia: Encyclopedia, articles: Iterator[Article], rng: random.Random) -> Instance:
    source = next(articles)
    article = encyclopedia.articles[rng.choice(source.links)]
    fact = _fact(article, rng)
    return Instance({"source": source.title, **fact.slots}, fact.eval)


def instance_of(encyclopedia: Encyclopedia, family: str, slots: dict[str, str]) -> tuple[Instance, str]:
    """(what an instruction of this family asks for, the split its entities belong to); InfeasibleError otherwise."""
    article = found(encyclopedia.articles.get(slots["article"]), f"no article {slots['article']!r}")
    facts = article.facts
    if family == "Wiki-tab":
        demand(slots["tab"] in TABS, f"an article has no tab {slots['tab']!r}")
        facts = article.tabs[slots["tab"]]
    elif family == "Wiki-link":
        source = found(encyclopedia.articles.get(slots["source"]), f"no article {slots['source']!r}")
        demand(article.title in source.links, f"{source.title!r} has no link to {article.title!r}")
    demand(slots["attribute"] in facts, f"{article.title!r} has no {slots['attribute']!r} there")
    return Instance(slots, answer(facts[slots["attribute"]])), article.split
