"""What may be asked in the shop."""

from data.actions.action import Action, Answer, Restart
from environments.sites.shop.content import QUANTITIES, Product
from environments.touch.expert.rules import (
    COMPLETE,
    TAPPED,
    Move,
    Rule,
    choose,
    first,
    in_app,
    on,
    search,
    stages,
    tap,
    tapped,
    tell,
)
from environments.touch.families.family import Family, Slots, Source
from environments.touch.phone import CartLine, Phone, web


def _product(source: Source) -> Product:
    return source.rng.choice(web().shop.of(source.split))


def _draw(source: Source) -> Slots:
    return {"product": _product(source).name}


def _draw_fact(source: Source) -> Slots:
    product = _product(source)
    return {"product": product.name, "attribute": source.rng.choice(["Price", *product.facts])}


def _draw_options(source: Source) -> Slots:
    product = _product(source)
    options = {"colour": source.rng.choice(product.colours[1:]), "quantity": source.rng.choice(QUANTITIES[1:])}
    return {"product": product.name, **options}


def _draw_two(source: Source) -> Slots:
    one, other = source.rng.sample(web().shop.of(source.split), 2)
    return {"one": one.name, "other": other.name}


def _fact(phone: Phone, slots: Slots) -> str:
    product = web().shop.products[slots["product"]]
    return {"Price": product.price, **product.facts}[slots["attribute"]]


def _buy(phone: Phone, slots: Slots) -> None:
    product = web().shop.products[slots["product"]]
    phone.cart[product.name] = CartLine(slots.get("colour", product.colours[0]), int(slots.get("quantity", "1")))


def _buy_two(phone: Phone, slots: Slots) -> None:
    for name in (slots["one"], slots["other"]):
        _buy(phone, {"product": name})


def _find(product: str, *rules: Rule) -> Rule:
    found = on("Products found", tap(product))
    return in_app("Shop", on(product, *rules), found, on("Departments", search("Search products", product)))


def _add(product: str, *options: Rule) -> Rule:
    return _find(product, *options, tap("Add to cart"))


def _one(product: str, *options: Rule) -> Rule:
    return stages((tapped("Add to cart"), _add(product, *options)))


def _two(one: str, other: str) -> Rule:
    """The cart says what is in it."""
    put_one = first(_in_cart(one, Restart()), _add(one))
    put_other = first(_in_cart(other, Answer(COMPLETE)), _add(other))
    return stages((_kept(one), put_one), (_kept(other), put_other))


def _in_cart(product: str, action: Action) -> Rule:
    return on("Your cart", lambda seen: Move(_kept(product), action) if seen.page.find(TAPPED, product) else None)


def _kept(product: str) -> str:
    return f"'{product}' is in the cart."


FAMILIES = (
    Family(
        "shop-fact",
        1,
        ('Tell the "{attribute}" of "{product}" in the shop.', 'Look in the shop for "{attribute}" of "{product}".'),
        _draw_fact,
        lambda product, attribute: _find(product, tell(attribute)),
        say=_fact,
    ),
    Family(
        "shop-buy",
        2,
        ('Put "{product}" into the cart of the shop.', 'In the shop, add "{product}" to the cart.'),
        _draw,
        _one,
        do=_buy,
    ),
    Family(
        "shop-options",
        2,
        ('Put "{quantity}" pieces of "{product}" in "{colour}" into the cart of the shop.',),
        _draw_options,
        lambda product, quantity, colour: _one(product, choose(colour), choose(quantity)),
        do=_buy,
    ),
    Family(
        "shop-two",
        3,
        ('Put "{one}" and "{other}" into the cart of the shop.',),
        _draw_two,
        _two,
        do=_buy_two,
    ),
)
