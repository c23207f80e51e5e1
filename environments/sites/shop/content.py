"""What the shop sells."""

import dataclasses
from collections.abc import Mapping

from environments.sites.words import FILLER, Words

PRODUCTS_PER_CATEGORY = 8
COLOURS = ("black", "white", "red", "green", "blue", "yellow")
QUANTITIES = ("1", "2", "3", "4")

# Sixteen categories a department, dealt out to the splits in this order.
_OWNERS = f"IL optim-1 optim-2 IL optim-3 test {FILLER} test-2 test-2 test-2 validation validation IL IL IL IL".split()
_DEPARTMENTS = {
    "Home": "Lamps Rugs Clocks Mirrors Cushions Vases Shelves Curtains Candles Blankets Baskets Stools "
    "Pillows Sofas Hooks Frames",
    "Garden": "Shears Hoses Planters Spades Lanterns Benches Seeds Rakes Trellises Fountains Gloves Buckets "
    "Trowels Arbors Gnomes Sprinklers",
    "Kitchen": "Kettles Knives Bowls Mugs Trays Jars Pans Spoons Plates Graters Teapots Sieves "
    "Ladles Whisks Toasters Corkscrews",
    "Office": "Desks Pens Folders Stamps Staplers Notebooks Chairs Rulers Erasers Calendars Envelopes Markers "
    "Binders Clips Easels Globes",
    "Outdoor": "Tents Ropes Torches Compasses Backpacks Kayaks Boots Hammocks Stoves Whistles Paddles Sledges "
    "Flasks Snowshoes Anoraks Binoculars",
}
_MATERIALS = "oak steel cotton glass bamboo leather ceramic copper linen rubber".split()


@dataclasses.dataclass(frozen=True)
class Product:
    """`facts` are the lines of its page, `colours` its options."""

    name: str
    category: str
    department: str
    split: str
    price_cents: int
    facts: dict[str, str]
    colours: tuple[str, ...]
    delivery_days: int

    @property
    def price(self) -> str:
        return euros(self.price_cents)


@dataclasses.dataclass(frozen=True)
class Shop:
    """`departments` maps a department to its categories, `categories` a category to its products."""

    departments: dict[str, list[str]]
    categories: dict[str, list[Product]]
    products: dict[str, Product]

    def of(self, split: str) -> list[Product]:
        return [product for product in self.products.values() if product.split == split]


def euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"


def build(words: Words, shares: Mapping[str, int]) -> Shop:
    """What belongs to these splits."""
    owners = {
        department: {name: split for name, split in zip(names.split(), _OWNERS, strict=True) if split in shares}
        for department, names in _DEPARTMENTS.items()
    }
    categories = {
        category: _stock(words, department, category, split)
        for department, owned in owners.items()
        for category, split in owned.items()
    }
    departments = {department: list(owned) for department, owned in owners.items()}
    products = {product.name: product for stock in categories.values() for product in stock}
    return Shop(departments, categories, products)


def _stock(words: Words, department: str, category: str, split: str) -> list[Product]:
    rng = words.rng
    euros = rng.sample(range(5, 95), PRODUCTS_PER_CATEGORY)  # distinct, so one product is the cheapest
    return [
        Product(
            name=words.product(),
            category=category,
            department=department,
            split=split,
            price_cents=100 * euro + rng.choice((0, 25, 40, 50, 75, 90, 95)),
            facts={
                "Material": rng.choice(_MATERIALS),
                "Weight": f"{rng.randint(2, 60)} {rng.choice(('kg', 'g'))}",
                "Warranty": f"{rng.randint(2, 12)} years",
                "Size": f"{rng.randint(10, 99)} cm",
            },
            colours=tuple(rng.sample(COLOURS, 3)),
            delivery_days=rng.randint(2, 9),
        )
        for euro in euros
    ]
