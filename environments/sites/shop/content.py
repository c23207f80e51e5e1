"""What the shop sells."""

import dataclasses

from environments.sites.words import FILLER, SPLITS, Words

PRODUCTS_PER_CATEGORY = 8
COLOURS = ("black", "white", "red", "green", "blue", "yellow")
QUANTITIES = ("1", "2", "3", "4")

# Seven categories a department, dealt out to the splits in this order.
_OWNERS = ("IL", "optim-1", "optim-2", "IL", "optim-3", "test", FILLER)
_DEPARTMENTS = {
    "Home": "Lamps Rugs Clocks Mirrors Cushions Vases Shelves",
    "Garden": "Shears Hoses Planters Spades Lanterns Benches Seeds",
    "Kitchen": "Kettles Knives Bowls Mugs Trays Jars Pans",
    "Office": "Desks Pens Folders Stamps Staplers Notebooks Chairs",
    "Outdoor": "Tents Ropes Torches Compasses Backpacks Kayaks Boots",
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


def build(words: Words) -> Shop:
    departments = {department: names.split() for department, names in _DEPARTMENTS.items()}
    categories = {
        category: _stock(words, department, category, split)
        for department, names in departments.items()
        for category, split in zip(names, _OWNERS, strict=True)
    }
    assert set(_OWNERS) == {*SPLITS, FILLER}
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
