"""Plans for the tasks of graded difficulty (`sites/graded.py`): each level's shortest way has as many steps."""

from collections.abc import Callable

from environments.sites.expert.rules import Rule, choose, click, done, fill, first, on, tell, type_into, when


def _tell_here(product: str, attribute: str) -> Rule:
    return first(on(product, tell(attribute)), click(product), type_into("Search products", product))


def _linked_tab(article: str, tab: str, attribute: str) -> Rule:
    return first(on(article, tell(attribute), click(tab)), click(article), type_into("Search articles", article))


def _vote(board: str, thread: str) -> Rule:
    there = first(on(board, click(thread), click("Next page", goal=thread)), click(board))
    return first(done("Vote counted"), on(thread, click("Upvote")), there)


def _in_colour(product: str, colour: str) -> Rule:
    order = on(product, choose("Colour", colour), click("Add to cart"))
    return first(done("Added to the cart"), order, click(product), type_into("Search products", product))


def _book(train: str, passenger: str, travel_class: str) -> Rule:
    book = on("Book a seat", fill("Passenger", passenger), choose("Class", travel_class), click("Confirm booking"))
    find = first(click(train), type_into("Train number", train))
    return first(done("Seat booked"), book, on(train, click("Book a seat")), find)


def _two_products(first_product: str, second: str, *options: Rule) -> Rule:
    """The cart's page says which of the two is in it already."""
    search_first, search_second = (type_into("Search products", product) for product in (first_product, second))
    filled = when(first_product, when(second, done("Added to the cart")))
    cart = on("Your cart", filled, when(first_product, search_second), search_first)
    add_second = on(second, *options, click("Add to cart"))
    add_first = on(first_product, click("Add to cart"))
    return first(cart, add_second, add_first, click(second), click(first_product), search_first)


# For each level what is needed on the way, and the plan.
GRADED_PLANS: dict[str, tuple[tuple[str, ...], Callable[..., Rule]]] = {
    "Level-1": (("{attribute}",), _tell_here),
    "Level-2": (("{product}", "{attribute}"), _tell_here),
    "Level-3": (("{article}", "{tab}", "{attribute}"), _linked_tab),
    "Level-4": (("{board}", "{thread}", "Upvote"), _vote),
    "Level-5": (("{product}", "{colour}", "Add to cart"), _in_colour),
    "Level-6": (("{train}", "Book a seat", "{passenger}", "{travel_class}", "Confirm booking"), _book),
    "Level-7": (
        ("{first}", "{second}"),
        lambda first, second: _two_products(first, second),
    ),
    "Level-8": (
        ("{first}", "{second}"),
        lambda first, second, colour: _two_products(first, second, choose("Colour", colour)),
    ),
}
