"""What our shop holds: a made-up store for the home and its customers, drawn from a seed."""

import dataclasses
import random
from typing import Any

AGENT = "ana@example.org"
CUSTOMERS = {
    AGENT: ("Ana", "Lund"),
    "boris@example.org": ("Boris", "Weiss"),
    "dora@example.org": ("Dora", "Reyes"),
    "emil@example.org": ("Emil", "Okafor"),
}
COUNTRIES = {"DE": "Germany", "DK": "Denmark", "FR": "France", "NO": "Norway"}
MAKERS = ("Nordhem", "Calder & Finch", "Oakley Works", "Tamsin Studio", "Brugge Atelier")
STATUSES = ("Pending", "Being packed", "Sent", "Cancelled")
_COLORS = {
    **{"Amber": "#f0a830", "Scarlet": "#c8323c", "Indigo": "#3c3c96", "Olive": "#78823c"},
    **{"Teal": "#288c8c", "Ivory": "#f0ebdc", "Slate": "#64707c", "Copper": "#b4693c"},
}
_KINDS = {
    "Lamps": ("reading lamp", "floor lamp", "desk lamp", "lantern"),
    "Chairs": ("rocking chair", "folding chair", "kitchen stool", "armchair"),
    "Rugs": ("hall rug", "round rug", "bath mat", "wool carpet"),
    "Clocks": ("wall clock", "alarm clock", "mantel clock", "egg timer"),
    "Kettles": ("whistling kettle", "tea kettle", "travel kettle", "coffee pot"),
    "Blankets": ("picnic blanket", "wool throw", "baby blanket", "quilt"),
}
PER_CATEGORY = 8
NUM_ORDERS = 22
_GUARANTEES = ("6 months", "1 year", "2 years", "5 years", "10 years")
STREETS = ("Kastanienallee", "Harbor Road", "Rue des Lilas", "Elm Street", "Storgata", "Mill Lane")
CITIES = {"DE": ("Bremen", "28195"), "DK": ("Aarhus", "8000"), "FR": ("Lyon", "69001"), "NO": ("Bergen", "5003")}
_RECIPIENTS = (("Ana", "Lund"), ("Greta", "Lund"), ("Henrik", "Solberg"), ("Yusuf", "Demir"))
_LISTS = ("New flat", "Birthday ideas", "Garden party")
_TITLES = ("Just right", "Smaller than it looks", "A good gift", "Would buy it again", "Not for me")


@dataclasses.dataclass(frozen=True)
class Content:
    """Products, orders and addresses in the order of their numbers, from 1; others by name."""

    customers: dict[str, tuple[str, str]]
    countries: dict[str, str]
    products: list[dict[str, Any]]
    addresses: list[dict[str, str]]
    orders: list[dict[str, Any]]
    basket: dict[str, int]
    lists: dict[str, list[str]]
    reviews: list[dict[str, Any]]
    agent: str = AGENT


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"oscar {seed}")
    products = _products(rng)
    titles = [product["title"] for product in products if product["stock"] > 4]
    addresses = [_address(rng, *name) for name in _RECIPIENTS]
    lists = {name: rng.sample(titles, 3) for name in _LISTS}
    return Content(
        customers=CUSTOMERS,
        countries=COUNTRIES,
        products=products,
        addresses=addresses,
        orders=[_order(rng, titles) for _ in range(NUM_ORDERS)],
        basket={title: rng.randint(1, 3) for title in rng.sample(titles, 3)},
        lists=lists,
        reviews=_reviews(rng, [product["title"] for product in products]),
    )


def _products(rng: random.Random) -> list[dict[str, Any]]:
    prices = iter(rng.sample(range(650, 24000, 5), PER_CATEGORY * len(_KINDS)))
    products = []
    for category, kinds in _KINDS.items():
        sold_out = set(rng.sample(range(PER_CATEGORY), 2))
        names = rng.sample([(color, kind) for color in _COLORS for kind in kinds], PER_CATEGORY)
        for number, (color, kind) in enumerate(names):
            product = {
                "title": f"{color} {kind}",
                "category": category,
                "color": _COLORS[color],
                "price": f"{next(prices) / 100:.2f}",
                "stock": 0 if number in sold_out else rng.randint(5, 60),
                "maker": rng.choice(MAKERS),
                "guarantee": rng.choice(_GUARANTEES),
                "description": f"A {kind} in {color.lower()}, {rng.randint(2, 60) * 100} grams.",
            }
            products.append(product)
    return products


def _address(rng: random.Random, first_name: str, last_name: str) -> dict[str, str]:
    country = rng.choice(sorted(COUNTRIES))
    city, postcode = CITIES[country]
    street = f"{rng.choice(STREETS)} {rng.randint(1, 99)}"
    names = {"first_name": first_name, "last_name": last_name}
    return {**names, "line1": street, "city": city, "postcode": postcode, "country": country}


def _order(rng: random.Random, titles: list[str]) -> dict[str, Any]:
    return {
        "customer": AGENT if rng.random() < 0.7 else rng.choice(list(CUSTOMERS)[1:]),
        "status": rng.choice(STATUSES),
        "lines": {title: rng.randint(1, 4) for title in rng.sample(titles, rng.choice((1, 1, 2, 3)))},
        "to": rng.randrange(len(_RECIPIENTS)),
    }


def _reviews(rng: random.Random, titles: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "product": title,
            "customer": rng.choice(list(CUSTOMERS)[1:]),
            "score": rng.randint(1, 5),
            "title": rng.choice(_TITLES),
            "body": f"I have had it for {rng.randint(2, 20)} weeks.",
        }
        for title in rng.sample(titles, 20)
    ]
