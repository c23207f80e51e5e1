"""What a visitor of the shop sees and does."""

import dataclasses

from starlette.responses import HTMLResponse, Response

from environments.sites import markup as m
from environments.sites.shop.content import QUANTITIES, Product, Shop, euros
from environments.sites.visits import Handler, Visit, go_to, matches, paginate
from environments.sites.words import FILLER

BRAND = "Cargo"
PAGE_SIZE = 6
_ORDERS = {
    "Featured": lambda product: 0,
    "Lowest price": lambda product: product.price_cents,
    "Highest price": lambda product: -product.price_cents,
}
_BUDGETS = {"Any price": 10**9, "Below 40 EUR": 40_00}  # cents


@dataclasses.dataclass
class CartLine:
    product: str
    colour: str
    quantity: int


@dataclasses.dataclass
class State:
    """What a session has done."""

    cart: list[CartLine] = dataclasses.field(default_factory=list)


class Pages:
    """The shop's pages over its content."""

    def __init__(self, shop: Shop):
        self.shop = shop

    def pages(self) -> dict[str, Handler]:
        return {
            "/": self.home,
            "/search": self.search,
            "/department/{department}": self.department,
            "/category/{category}": self.category,
            "/product/{product}": self.product,
            "/cart": self.cart,
            "/cart/add": self.add,
            "/cart/remove": self.remove,
        }

    def late(self) -> dict[str, Handler]:
        return {"/late/delivery/{product}": self.delivery}

    def home(self, visit: Visit) -> str:
        banner = m.title("Spring sale") + m.text("Free delivery for orders above 50 EUR")
        departments = "".join(
            _tile(name, m.url(f"/department/{name}")) for name in visit.popular(self.shop.departments)
        )
        popular = [
            self.shop.products[stock[0].name] for stock in self.shop.categories.values() if stock[0].split == FILLER
        ]
        main = m.box(banner, "hero") + m.heading("Departments") + m.box(departments, "grid five")
        return self._page(visit, "Welcome", main + m.heading("Popular today") + _cards(popular[:3]))

    def search(self, visit: Visit) -> str:
        found = [self.shop.products[name] for name in matches(visit.fields.get("q", ""), self.shop.products)]
        shown, page, num_pages = paginate(found, visit.number("page"), PAGE_SIZE)
        main = m.title("Search results") + (_cards(shown) if found else m.text("No products found"))
        main += m.pager(page, num_pages, "/search", q=visit.fields.get("q"))
        return self._page(visit, "Search results", main)

    def department(self, visit: Visit) -> str | Response:
        department = visit.path["department"]
        if department not in self.shop.departments:
            return self._missing(visit)
        categories = self.shop.departments[department]
        tiles = "".join(_tile(category, m.url(f"/category/{category}")) for category in visit.popular(categories))
        return self._page(visit, department, m.title(department) + m.box(tiles, "grid five"))

    def category(self, visit: Visit) -> str | Response:
        category = visit.path["category"]
        if category not in self.shop.categories:
            return self._missing(visit)
        order, budget = visit.choice("order", _ORDERS), visit.choice("budget", _BUDGETS)
        affordable = [product for product in self.shop.categories[category] if product.price_cents < _BUDGETS[budget]]
        chosen = sorted(affordable, key=_ORDERS[order])
        shown, page, num_pages = paginate(chosen, visit.number("page"), PAGE_SIZE)
        tools = m.select("Sort by", "order", _ORDERS, order, submits=True)
        tools += m.select("Budget", "budget", _BUDGETS, budget, submits=True)
        main = m.title(category) + m.form(m.url(f"/category/{category}"), tools, method="get")
        main += m.heading("Products") + (_cards(shown) if shown else m.text("No products found"))
        main += m.pager(page, num_pages, f"/category/{category}", order=order, budget=budget)
        return self._page(visit, category, main)

    def product(self, visit: Visit) -> str | Response:
        product = self.shop.products.get(visit.path["product"])
        if product is None:
            return self._missing(visit)
        about = m.facts({"Price": product.price, **product.facts}) + m.late(m.url(f"/late/delivery/{product.name}"))
        options = m.hidden("product", product.name)
        options += m.select("Colour", "colour", product.colours) + m.select("Quantity", "quantity", QUANTITIES)
        buy = m.form("/cart/add", options, "Add to cart")
        offer = m.box(m.picture(product.name, "large") + m.box(about, "about") + buy, "split")
        back = m.box(m.link(product.category, m.url(f"/category/{product.category}")), "crumb")
        return self._page(visit, product.name, back + m.title(product.name) + offer)

    def delivery(self, visit: Visit) -> str:
        product = self.shop.products.get(visit.path["product"])
        return m.text(f"Delivery: {product.delivery_days} days", "fact") if product else ""

    def cart(self, visit: Visit) -> str:
        cart = visit.state.cart
        lines = "".join(self._cart_line(number, line) for number, line in enumerate(cart, start=1))
        total = sum(self.shop.products[line.product].price_cents * line.quantity for line in cart)
        notice = m.text("Added to the cart", "notice") if "added" in visit.fields else ""
        content = lines + m.text(f"Total: {euros(total)}", "fact total") if cart else m.text("Nothing in it yet")
        return self._page(visit, "Your cart", notice + m.title("Your cart") + content)

    def _cart_line(self, number: int, line: CartLine) -> str:
        product = self.shop.products[line.product]
        about = m.link(product.name, m.url(f"/product/{product.name}"))
        about += m.text(f"{line.quantity} in {line.colour}, {product.price} each")
        remove = m.form("/cart/remove", m.hidden("line", number), "Remove")
        return m.box(m.picture(product.name) + m.box(about, "about") + remove, "row")

    def add(self, visit: Visit) -> Response:
        product = self.shop.products.get(visit.fields.get("product", ""))
        colour, quantity = visit.fields.get("colour", ""), visit.fields.get("quantity", "")
        if product is None or colour not in product.colours or quantity not in QUANTITIES:
            return self._missing(visit)
        visit.state.cart.append(CartLine(product.name, colour, int(quantity)))
        return go_to("/cart?added=1")

    def remove(self, visit: Visit) -> Response:
        number = visit.number("line", default=0)
        if 0 < number <= len(visit.state.cart):
            del visit.state.cart[number - 1]
        return go_to("/cart")

    def _page(self, visit: Visit, title: str, main: str) -> str:
        num_items = sum(line.quantity for line in visit.state.cart)
        header = m.logo(BRAND) + m.search_box("Search products") + m.link("Cart", "/cart") + m.badge(num_items)
        return m.document("shop", BRAND, title, header, main)

    def _missing(self, visit: Visit) -> Response:
        return HTMLResponse(self._page(visit, "Not found", m.text("There is no such page in this shop")), 404)


def _tile(name: str, address: str) -> str:
    return m.box(m.picture(name) + m.link(name, address), "tile")


def _cards(products: list[Product]) -> str:
    cards = []
    for product in products:
        name = m.link(product.name, m.url(f"/product/{product.name}"))
        cards.append(m.box(m.picture(product.name) + name + m.text(product.price), "card"))
    return m.box("".join(cards), "grid")
