"""Plans: how an expert solves each family of tasks, from whatever page it is on.

Rules stand from the end of the way to its beginning, so that each page decides the next step by itself.
"""

from collections.abc import Callable

from environments.sites.expert.graded_plans import GRADED_PLANS
from environments.sites.expert.looking_plans import LOOKING_PLANS
from environments.sites.expert.rules import (
    Rule,
    choose,
    click,
    done,
    fill,
    first,
    on,
    tell,
    tell_first_below,
    type_into,
    wait,
)


def way(family: str, slots: dict[str, str]) -> list[str]:
    """The goals of the moves that solve an instruction, in order."""
    return [goal.format(**slots) for goal in _FAMILIES[family][0]]


def plan(family: str, slots: dict[str, str]) -> Rule:
    """The rule for an instruction; lost, it waits for what is loading and else starts over from the front page."""
    return first(_FAMILIES[family][1](**slots), wait, *map(click, _FRONT_PAGES))


_FRONT_PAGES = ("Cargo", "Almanac", "Campfire", "Railhead", "Easel")


def _find_product(product: str) -> Rule:
    return first(click(product), type_into("Search products", product))


def _browse(department: str, category: str) -> Rule:
    return first(click(category), click(department))


def _shop_price(product: str) -> Rule:
    return first(on(product, tell("Price")), _find_product(product))


def _shop_attribute(department: str, category: str, attribute: str, product: str) -> Rule:
    on_category = on(category, click(product), click("Next page", goal=product))
    return first(on(product, tell(attribute)), on_category, _browse(department, category))


def _shop_cart(product: str) -> Rule:
    return first(done("Added to the cart"), on(product, click("Add to cart")), _find_product(product))


def _shop_options(product: str, colour: str, quantity: str) -> Rule:
    order = on(product, choose("Colour", colour), choose("Quantity", quantity), click("Add to cart"))
    return first(done("Added to the cart"), order, _find_product(product))


def _shop_cheapest(department: str, category: str) -> Rule:
    compare = on(category, choose("Sort by", "Lowest price"), tell_first_below("Products"))
    return first(compare, _browse(department, category))


def _look_up(article: str) -> Rule:
    return type_into("Search articles", article)


def _wiki_fact(article: str, attribute: str) -> Rule:
    return first(on(article, tell(attribute)), _look_up(article))


def _wiki_link(source: str, article: str, attribute: str) -> Rule:
    return first(on(article, tell(attribute)), on(source, click(article)), _look_up(source))


def _wiki_tab(article: str, tab: str, attribute: str) -> Rule:
    return first(on(article, tell(attribute), wait, click(tab)), _look_up(article))


def _open_thread(board: str, thread: str) -> Rule:
    return first(on(board, click(thread), click("Next page", goal=thread)), click(board))


def _forum_author(board: str, thread: str) -> Rule:
    return first(on(thread, tell("Author")), _open_thread(board, thread))


def _forum_views(thread: str) -> Rule:
    return first(on(thread, tell("Views")), click(thread), type_into("Search threads", thread))


def _forum_reply(text: str, thread: str, board: str) -> Rule:
    answer = on(thread, fill("Your reply", text), click("Post reply"))
    return first(done("Reply posted"), answer, _open_thread(board, thread))


def _forum_upvote(thread: str, board: str) -> Rule:
    return first(done("Vote counted"), on(thread, click("Upvote")), _open_thread(board, thread))


def _rail_departure(origin: str, destination: str) -> Rule:
    ask = on("Journeys", fill("From", origin), fill("To", destination), click("Find trains"))
    return first(on("Timetable", tell("Departs")), ask)


def _find_train(train: str) -> Rule:
    return first(click(train), type_into("Train number", train))


def _rail_platform(train: str) -> Rule:
    return first(on(train, tell("Platform")), _find_train(train))


def _rail_book(train: str, passenger: str, travel_class: str) -> Rule:
    book = on("Book a seat", fill("Passenger", passenger), choose("Class", travel_class), click("Confirm booking"))
    return first(done("Seat booked"), book, on(train, click("Book a seat")), _find_train(train))


# For each family what is needed on the way, and the plan.
_PLANS: dict[str, tuple[tuple[str, ...], Callable[..., Rule]]] = {
    "Shop-price": (("{product}", "Price"), _shop_price),
    "Shop-attribute": (
        ("{department}", "{category}", "{product}", "{attribute}"),
        _shop_attribute,
    ),
    "Shop-cart": (("{product}", "Add to cart"), _shop_cart),
    "Shop-options": (
        ("{product}", "{colour}", "{quantity}", "Add to cart"),
        _shop_options,
    ),
    "Shop-cheapest": (
        ("{department}", "{category}", "Lowest price", "Products"),
        _shop_cheapest,
    ),
    "Wiki-fact": (("{article}", "{attribute}"), _wiki_fact),
    "Wiki-link": (("{source}", "{article}", "{attribute}"), _wiki_link),
    "Wiki-tab": (("{article}", "{tab}", "{attribute}"), _wiki_tab),
    "Forum-author": (("{board}", "{thread}", "Author"), _forum_author),
    "Forum-views": (("{thread}", "Views"), _forum_views),
    "Forum-reply": (("{board}", "{thread}", "{text}", "Post reply"), _forum_reply),
    "Forum-upvote": (("{board}", "{thread}", "Upvote"), _forum_upvote),
    "Rail-departure": (("{origin}", "{destination}", "Find trains", "Departs"), _rail_departure),
    "Rail-platform": (("{train}", "Platform"), _rail_platform),
    "Rail-book": (
        ("{train}", "Book a seat", "{passenger}", "{travel_class}", "Confirm booking"),
        _rail_book,
    ),
}

_FAMILIES = _PLANS | GRADED_PLANS | LOOKING_PLANS
