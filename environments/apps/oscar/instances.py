"""An instance of each kind of task in our shop, drawn with its ground truth; `tasks.py` has the words."""

import random

from environments.apps.application import Record
from environments.apps.oscar.content import AGENT, CITIES, COUNTRIES, STREETS
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows

_MISSING = ("Golden bird bath", "Violet tent", "Silver toaster", "Crimson bookshelf", "Lilac doormat", "Bronze hammock")
_LISTS = ("Balcony", "For grandmother", "Moving day", "Housewarming", "Summer house", "Some day")
_PEOPLE = (("Iris", "Novak"), ("Jonas", "Berg"), ("Katja", "Meier"), ("Leo", "Martin"), ("Mila", "Haugen"))


def products(state: State, in_stock: bool = True) -> list[Record]:
    return [product for product in state.of("product") if (product["stock"] > 0) == in_stock]


def orders(state: State) -> list[Record]:
    """The agent's own."""
    return [order for order in state.of("order") if order["customer"] == AGENT]


def _values(records: list[Record], field: str) -> tuple[str, ...]:
    return tuple(sorted({record[field] for record in records}))


def _new(state: State, rng: random.Random) -> Record:
    """In stock and not yet in the basket."""
    held = _values(state.of("basket line"), "product")
    return rng.choice([product for product in products(state) if product["title"] not in held])


def _basket_line(product: str, quantity: str) -> Record:
    return {"kind": "basket line", "customer": AGENT, "status": "Open", "product": product, "quantity": quantity}


def price(state: State, rng: random.Random) -> Instance:
    product = rng.choice(state.of("product"))
    return Instance({"product": product["title"]}, says(product["price"], _values(state.of("product"), "price")))


def guarantee(state: State, rng: random.Random) -> Instance:
    product, all_of_them = rng.choice(state.of("product")), _values(state.of("product"), "guarantee")
    return Instance({"product": product["title"]}, says(product["guarantee"], all_of_them))


def maker(state: State, rng: random.Random) -> Instance:
    product = rng.choice(state.of("product"))
    return Instance({"product": product["title"]}, says(product["maker"], _values(state.of("product"), "maker")))


def order_status(state: State, rng: random.Random) -> Instance:
    order = rng.choice(orders(state))
    return Instance({"number": order["number"]}, says(order["status"], _values(state.of("order"), "status")))


def order_recipient(state: State, rng: random.Random) -> Instance:
    order, known = rng.choice(orders(state)), {order["sent_to"].partition(",")[0] for order in orders(state)}
    return Instance({"number": order["number"]}, says(order["sent_to"].partition(",")[0], tuple(known)))


def open_product(state: State, rng: random.Random) -> Instance:
    product = rng.choice(state.of("product"))
    return Instance({"product": product["title"]}, shows(f"/catalogue/{product['slug']}_{product['id']}"))


def open_order(state: State, rng: random.Random) -> Instance:
    order = rng.choice(orders(state))
    return Instance({"number": order["number"]}, shows(f"/accounts/orders/{order['number']}"))


def add_to_basket(state: State, rng: random.Random) -> Instance:
    product, quantity = _new(state, rng), rng.randint(2, 5)
    truth = leaves([_basket_line(product["title"], str(quantity))])
    return Instance({"product": product["title"], "quantity": str(quantity)}, truth)


def tell_me(state: State, rng: random.Random) -> Instance:
    product = rng.choice(products(state, in_stock=False))["title"]
    alert = {"kind": "alert", "product": product, "customer": AGENT, "email": "", "status": "Active"}
    return Instance({"product": product}, leaves([alert]))


def new_address(state: State, rng: random.Random) -> Instance:
    (first, last), street = rng.choice(_PEOPLE), f"{rng.choice(STREETS)} {rng.randint(1, 99)}"
    country = rng.choice(sorted(COUNTRIES))
    city, postcode = CITIES[country]
    slots = {"first": first, "last": last, "street": street, "postcode": postcode, "city": city}
    empty = dict.fromkeys(("title", "line2", "line3", "state", "phone", "notes"), "")
    told = {"first_name": first, "last_name": last, "line1": street, "city": city, "postcode": postcode}
    address = {"kind": "address", "customer": AGENT, **empty, **told, "country": country, "ships": "", "bills": ""}
    return Instance({**slots, "country": COUNTRIES[country]}, leaves([address]))


def new_list(state: State, rng: random.Random) -> Instance:
    name = rng.choice(_LISTS)
    return Instance(
        {"name": name}, leaves([{"kind": "wish list", "name": name, "customer": AGENT, "visibility": "Private"}])
    )


def change_quantity(state: State, rng: random.Random) -> Instance:
    line = rng.choice(state.of("basket line"))
    quantity = rng.choice([number for number in "23456" if number != line["quantity"]])
    slots = {"product": line["product"], "quantity": quantity}
    return Instance(slots, edits(line, quantity=quantity))


def remove(state: State, rng: random.Random) -> Instance:
    line = rng.choice(state.of("basket line"))
    return Instance({"product": line["product"]}, leaves([], [line]))


def _person(address: Record) -> str:
    return f"{address['first_name']} {address['last_name']}"


def move_house(state: State, rng: random.Random) -> Instance:
    address, street = rng.choice(state.of("address")), f"{rng.choice(STREETS)} {rng.randint(100, 199)}"
    return Instance({"person": _person(address), "street": street}, edits(address, line1=street))


def save_for_later(state: State, rng: random.Random) -> Instance:
    line = rng.choice(state.of("basket line"))
    return Instance({"product": line["product"]}, edits(line, status="Saved"))


def wish(state: State, rng: random.Random) -> Instance:
    """A product that the list does not name yet."""
    wished = rng.choice(state.of("wish list"))["name"]
    held = [one["product"] for one in state.of("wish") if one["list"] == wished]
    product = rng.choice([one for one in products(state) if one["title"] not in held])
    truth = leaves([{"kind": "wish", "list": wished, "product": product["title"], "quantity": 1}])
    return Instance({"product": product["title"], "list": wished}, truth)


def between(state: State, rng: random.Random) -> Instance:
    """The only product of its category within two prices in whole euros."""
    product = rng.choice(state.of("product"))
    alike = [one for one in state.of("product") if one["category"] == product["category"]]
    prices = sorted(float(one["price"]) for one in alike)
    place = prices.index(float(product["price"]))
    low = int(max([0.0, *prices[:place]])) + 1
    high = int(prices[place + 1]) if place + 1 < len(prices) else int(prices[place]) + 20
    slots = {"category": product["category"], "low": str(low), "high": str(high)}
    return Instance(slots, says(product["title"], tuple(one["title"] for one in alike)))


def cheapest(state: State, rng: random.Random) -> Instance:
    """That is to be had and not in the basket, where sold out ones may be cheaper."""
    held, category = _values(state.of("basket line"), "product"), rng.choice(_values(products(state), "category"))
    ones = [one for one in products(state) if one["category"] == category]
    best = min(ones, key=lambda one: float(one["price"]))
    if best["title"] in held:
        return cheapest(state, rng)
    return Instance({"category": category}, leaves([_basket_line(best["title"], "1")]))


def order_of(state: State, rng: random.Random) -> Instance:
    """The only order that came to this much."""
    mine = orders(state)
    order = rng.choice([one for one in mine if [other["total"] for other in mine].count(one["total"]) == 1])
    return Instance({"total": order["total"]}, says(order["number"], _values(mine, "number")))


def buy(state: State, rng: random.Random) -> Instance:
    address, lines = rng.choice(state.of("address")), state.of("basket line")
    price = {one["title"]: float(one["price"]) for one in state.of("product")}
    told = ", ".join(f"{one['quantity']} {one['product']}" for one in sorted(lines, key=lambda one: one["product"]))
    where = f"{_person(address)}, {address['line1']}, {address['postcode']} {address['city']}"
    total = f"{sum(int(one['quantity']) * price[one['product']] for one in lines):.2f}"
    made = {"kind": "order", "number": "new", "customer": AGENT, "status": "Pending", "total": total, "lines": told}
    order = made | {"sent_to": where, "shipping": "free-shipping", "guest_email": ""}
    return Instance({"person": _person(address)}, leaves([order], lines))


def _single(state: State, rng: random.Random) -> tuple[Record, str, str]:
    """An order of one product that is not in the basket: (order, product, how many)."""
    held = _values(state.of("basket line"), "product")
    found = [(one, *one["lines"].partition(" ")[::2]) for one in orders(state) if "," not in one["lines"]]
    order, quantity, product = rng.choice([one for one in found if one[2] not in held])
    return order, product, quantity


def order_again(state: State, rng: random.Random) -> Instance:
    order, product, quantity = _single(state, rng)
    return Instance({"number": order["number"]}, leaves([_basket_line(product, quantity)]))


def wish_again(state: State, rng: random.Random) -> Instance:
    order, product, _ = _single(state, rng)
    held = [one["list"] for one in state.of("wish") if one["product"] == product]
    wished = rng.choice([one["name"] for one in state.of("wish list") if one["name"] not in held])
    truth = leaves([{"kind": "wish", "list": wished, "product": product, "quantity": 1}])
    return Instance({"number": order["number"], "list": wished}, truth)


def missing(state: State, rng: random.Random) -> Instance:
    return Instance({"product": rng.choice(_MISSING), "quantity": str(rng.randint(2, 5))}, cannot())


def sold_out(state: State, rng: random.Random) -> Instance:
    product = rng.choice(products(state, in_stock=False))
    return Instance({"product": product["title"], "quantity": str(rng.randint(2, 5))}, cannot())
