"""Tasks of graded difficulty on the embedded sites: on level n the shortest way takes n steps, the answer included.

Levels 1 to 3 start near their goal; from level 4 on a task starts at the site's front page. Written by `make_tasks.py`
to data/tasks/graded/<split>.jsonl, over the same entities as the split's other tasks.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from environments.sites.content import Content
from environments.sites.encyclopedia.content import TABS, Article
from environments.sites.forum.content import Thread
from environments.sites.shop.content import Product
from environments.sites.shop.pages import PAGE_SIZE as PRODUCTS_ON_PAGE
from environments.sites.timetable.content import CLASSES, Train
from environments.sites.truth import Instance, answer, deal, demand, found, state

SITES = {
    "Level-1": "shop",
    "Level-2": "shop",
    "Level-3": "encyclopedia",
    "Level-4": "forum",
    "Level-5": "shop",
    "Level-6": "timetable",
    "Level-7": "shop",
    "Level-8": "shop",
}
LEVELS = tuple(SITES)


def draw(content: Content, split: str, level: str, count: int) -> list[tuple[dict[str, str], str]]:
    """`count` times (slots, path of the start page), over entities of `split` only."""
    rng = random.Random(f"graded {split} {level}")
    sources: dict[str, list[Any]] = {
        "shop": content.shop.of(split),
        "encyclopedia": content.encyclopedia.of(split),
        "forum": content.forum.of(split),
        "timetable": content.timetable.of(split),
    }
    entities = deal(sources[SITES[level]], f"graded {split} {level}")
    drawn: list[tuple[dict[str, str], str]] = []
    while len(drawn) < count:
        if (made := _DRAW[level](content, next(entities), rng)) is not None:
            drawn.append(made)
    return drawn


def instance_of(content: Content, level: str, slots: Mapping[str, str]) -> tuple[Instance, str]:
    """(what the instruction asks for, the split its entities belong to); InfeasibleError when it cannot be done."""
    return _TRUTH[level](content, dict(slots))


Drawn = tuple[dict[str, str], str] | None


def _level_1(content: Content, product: Product, rng: random.Random) -> Drawn:
    slots = {"product": product.name, "attribute": rng.choice(list(product.facts))}
    return slots, f"/product/{quote(product.name)}"


def _level_2(content: Content, product: Product, rng: random.Random) -> Drawn:
    if product not in content.shop.categories[product.category][:PRODUCTS_ON_PAGE]:
        return None
    slots = {"product": product.name, "attribute": rng.choice(list(product.facts))}
    return slots, f"/category/{quote(product.category)}"


def _level_3(content: Content, source: Article, rng: random.Random) -> Drawn:
    article, tab = content.encyclopedia.articles[rng.choice(source.links)], rng.choice(TABS)
    slots = {"article": article.title, "tab": tab, "attribute": rng.choice(list(article.tabs[tab]))}
    return slots, f"/article/{quote(source.title)}"


def _level_4(content: Content, thread: Thread, rng: random.Random) -> Drawn:
    on_first_page = thread.title in content.forum.boards[thread.board][:PRODUCTS_ON_PAGE]
    return ({"board": thread.board, "thread": thread.title}, "/") if on_first_page else None


def _level_5(content: Content, product: Product, rng: random.Random) -> Drawn:
    return {"product": product.name, "colour": rng.choice(product.colours[1:])}, "/"


def _level_6(content: Content, train: Train, rng: random.Random) -> Drawn:
    passenger = rng.choice(content.timetable.passengers[train.split])
    return {"train": train.name, "passenger": passenger, "travel_class": rng.choice(CLASSES)}, "/"


def _level_7(content: Content, product: Product, rng: random.Random) -> tuple[dict[str, str], str]:
    other = rng.choice([other for other in content.shop.of(product.split) if other is not product])
    return {"first": product.name, "second": other.name}, "/"


def _level_8(content: Content, product: Product, rng: random.Random) -> Drawn:
    slots, path = _level_7(content, product, rng)
    return {**slots, "colour": rng.choice(content.shop.products[slots["second"]].colours[1:])}, path


_DRAW: dict[str, Callable[..., Drawn]] = dict(
    zip(LEVELS, (_level_1, _level_2, _level_3, _level_4, _level_5, _level_6, _level_7, _level_8), strict=True)
)


def _product(content: Content, name: str) -> Product:
    demand(name in content.shop.products, f"no product {name!r}")
    return content.shop.products[name]


def _product_fact(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    product = _product(content, slots["product"])
    demand(slots["attribute"] in product.facts, f"a product has no {slots['attribute']!r}")
    return Instance(slots, answer(product.facts[slots["attribute"]])), product.split


def _tab_fact(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    article = found(content.encyclopedia.articles.get(slots["article"]), f"no article {slots['article']!r}")
    facts = article.tabs.get(slots["tab"], {})
    demand(slots["attribute"] in facts, f"{article.title!r} has no {slots['attribute']!r} there")
    return Instance(slots, answer(facts[slots["attribute"]])), article.split


def _vote(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    fault = f"no thread {slots['thread']!r} on {slots['board']!r}"
    thread = found(content.forum.threads.get(slots["thread"]), fault)
    demand(thread.board == slots["board"], fault)
    return Instance(slots, state(votes=[thread.title], replies=[])), thread.split


def _in_colour(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    product = _product(content, slots["product"])
    demand(slots["colour"] in product.colours, f"{product.name!r} does not come in {slots['colour']!r}")
    return Instance(slots, state(cart=[{**slots, "quantity": 1}])), product.split


def _booking(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    train = found(content.timetable.trains.get(slots["train"]), f"no train {slots['train']!r}")
    demand(slots["travel_class"] in CLASSES, f"no class {slots['travel_class']!r}")
    return Instance(slots, state(bookings=[slots])), train.split


def _two_products(content: Content, slots: dict[str, str]) -> tuple[Instance, str]:
    first, second = _product(content, slots["first"]), _product(content, slots["second"])
    lines = [{"product": product.name, "quantity": 1} for product in (first, second)]
    if "colour" in slots:
        demand(slots["colour"] in second.colours, f"{second.name!r} does not come in {slots['colour']!r}")
        lines[1]["colour"] = slots["colour"]
    return Instance(slots, state(cart=lines)), first.split


_TRUTH: dict[str, Callable[[Content, dict[str, str]], tuple[Instance, str]]] = {
    "Level-1": _product_fact,
    "Level-2": _product_fact,
    "Level-3": _tab_fact,
    "Level-4": _vote,
    "Level-5": _in_colour,
    "Level-6": _booking,
    "Level-7": _two_products,
    "Level-8": _two_products,
}
