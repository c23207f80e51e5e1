"""What may be asked of a visitor of the shop."""

import random

from environments.sites.shop.content import QUANTITIES, Product, Shop
from environments.sites.truth import Instance, answer, deal, demand, exact_answer, found, state


def instances(shop: Shop, split: str, count: int) -> dict[str, list[Instance]]:
    """`count` instances of every family, over products and categories of `split` only."""
    rng = random.Random(f"shop tasks {split}")
    products = deal(shop.of(split), f"products {split}")
    categories = deal(sorted({product.category for product in shop.of(split)}), f"categories {split}")
    return {
        "Shop-price": [_price(next(products)) for _ in range(count)],
        "Shop-attribute": [_attribute(next(products), rng) for _ in range(count)],
        "Shop-cart": [_cart(next(products)) for _ in range(count)],
        "Shop-options": [_options(next(products), rng) for _ in range(count)],
        "Shop-cheapest": [_cheapest(shop.categories[next(categories)]) for _ in range(count)],
    }


def _price(product: Product) -> Instance:
    return Instance({"product": product.name}, answer(product.price))


def _attribute(product: Product, rng: random.Random) -> Instance:
    attribute, value = rng.choice(list(product.facts.items()))
    slots = {"department": product.department, "category": product.category}
    return Instance({**slots, "attribute": attribute, "product": product.name}, answer(value))


def _cart(product: Product) -> Instance:
    return Instance({"product": product.name}, state(cart=[{"product": product.name, "quantity": 1}]))


def _options(product: Product, rng: random.Random) -> Instance:
    colour, quantity = rng.choice(product.colours[1:]), rng.choice(QUANTITIES[1:])
    slots = {"product": product.name, "colour": colour, "quantity": quantity}
    return Instance(slots, state(cart=[{**slots, "quantity": int(quantity)}]))


def _cheapest(stock: list[Product]) -> Instance:
    cheapest = min(stock, key=lambda product: product.price_cents)
    return Instance({"department": cheapest.department, "category": cheapest.category}, exact_answer(cheapest.name))


def instance_of(shop: Shop, family: str, slots: dict[str, str]) -> tuple[Instance, str]:
    """(what an instruction of this family asks for, the split its entities belong to); InfeasibleError otherwise."""
    if family == "Shop-cheapest":
        category, department = slots["category"], slots["department"]
        demand(category in shop.departments.get(department, ()), f"no category {category!r} in {department!r}")
        return _cheapest(shop.categories[category]), shop.categories[category][0].split
    product = found(shop.products.get(slots["product"]), f"no product {slots['product']!r}")
    if family == "Shop-attribute":
        place = (product.department, product.category)
        demand(place == (slots["department"], slots["category"]), f"{product.name!r} stands in {place}")
        demand(slots["attribute"] in product.facts, f"a product has no {slots['attribute']!r}")
        return Instance(slots, answer(product.facts[slots["attribute"]])), product.split
    if family == "Shop-options":
        demand(slots["colour"] in product.colours, f"{product.name!r} does not come in {slots['colour']!r}")
        demand(slots["quantity"] in QUANTITIES, f"no quantity {slots['quantity']!r}")
        return Instance(slots, state(cart=[{**slots, "quantity": int(slots["quantity"])}])), product.split
    return (_price if family == "Shop-price" else _cart)(product), product.split
