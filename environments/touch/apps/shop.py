"""Shop: what the embedded shop sells, with a cart on the phone."""

from starlette.responses import Response

from environments.sites.shop.content import QUANTITIES
from environments.sites.visits import Visit, go_to, matches
from environments.touch import markup as m
from environments.touch.phone import CartLine, Phone, web
from environments.touch.session import Show

NAME = "Shop"


def screens() -> dict[str, Show]:
    return {
        "/shop": _departments,
        "/shop/search": _search,
        "/shop/department/{department}": _department,
        "/shop/category/{category}": _category,
        "/shop/product/{product}": _product,
        "/shop/cart": _cart,
        "/shop/add/{product}": _add,
        "/shop/remove/{product}": _remove,
    }


def _page(title: str, main: str) -> str:
    return m.page(NAME, title, main, m.link("Cart", "/shop/cart"))


def _products(names: list[str], empty: str = "No products found") -> str:
    products = web().shop.products
    return m.rows([m.row(name, m.path("shop", "product", name), products[name].price) for name in names], empty)


def _departments(visit: Visit, phone: Phone) -> str:
    lines = [m.row(name, m.path("shop", "department", name)) for name in visit.popular(web().shop.departments)]
    return _page("Departments", m.search("Search products", "/shop/search") + "".join(lines))


def _search(visit: Visit, phone: Phone) -> str:
    query = visit.fields.get("q", "")
    return _page("Products found", m.search("Search products", "/shop/search", query) + _products(found(query)))


def found(query: str) -> list[str]:
    """The products whose names hold every word of it."""
    return matches(query, web().shop.products)


def _department(visit: Visit, phone: Phone) -> str | Response:
    department = visit.path["department"]
    if department not in web().shop.departments:
        return go_to("/shop")
    lines = [
        m.row(name, m.path("shop", "category", name)) for name in visit.popular(web().shop.departments[department])
    ]
    return _page(department, "".join(lines))


def _category(visit: Visit, phone: Phone) -> str | Response:
    category = visit.path["category"]
    if category not in web().shop.categories:
        return go_to("/shop")
    return _page(category, _products([product.name for product in web().shop.categories[category]]))


def _product(visit: Visit, phone: Phone) -> str | Response:
    product = web().shop.products.get(visit.path["product"])
    if product is None:
        return go_to("/shop")
    facts = {"Price": product.price, **product.facts}
    main = "".join(m.text(f"{name}: {value}") for name, value in facts.items())
    options = m.chips("Color", "colour", product.colours, product.colours[0])
    options += m.chips("Quantity", "quantity", QUANTITIES, QUANTITIES[0])
    return _page(product.name, main + m.form(m.path("shop", "add", product.name), options, "Add to cart"))


def _cart(visit: Visit, phone: Phone) -> str:
    lines = [
        m.row(name, m.path("shop", "product", name), f"{line.quantity} in {line.colour}")
        + m.button(f"Remove {name}", m.path("shop", "remove", name))
        for name, line in phone.cart.items()
    ]
    return _page("Your cart", m.rows(lines, "Nothing in it yet"))


def _add(visit: Visit, phone: Phone) -> Response:
    product = web().shop.products.get(visit.path["product"])
    colour, quantity = visit.fields.get("colour", ""), visit.fields.get("quantity", "")
    if product is not None and colour in product.colours and quantity in QUANTITIES:
        phone.cart[product.name] = CartLine(colour, int(quantity))
    return go_to("/shop/cart")


def _remove(visit: Visit, phone: Phone) -> Response:
    phone.cart.pop(visit.path["product"], None)
    return go_to("/shop/cart")
