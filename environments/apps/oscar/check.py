"""What a shop holds, as records: all that a customer can change, without times. Counts of what was ordered or looked at
are its own bookkeeping."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.django_project.lifecycle import DATABASE
from environments.apps.sqlite import rows

_BEGIN = "2026-01-15"
"""Later orders count by what they say: their number is that of the basket that they came of."""


def _of(table: str, column: str, name: str) -> str:
    return f"(SELECT {name} FROM {table} AS other WHERE other.id = item.{column})"


def _attribute(code: str) -> str:
    return (
        "(SELECT value_text FROM catalogue_productattributevalue AS held JOIN catalogue_productattribute AS kind "
        f"ON kind.id = attribute_id WHERE held.product_id = item.id AND code = '{code}')"
    )


_CUSTOMER = _of("auth_user", "user_id", "email")
_OWNER = _of("auth_user", "owner_id", "email")
_TITLE = _of("catalogue_product", "product_id", "title")
_ADDRESS = "first_name || ' ' || last_name || ', ' || line1 || ', ' || postcode || ' ' || line4"
_PRODUCT = f"""
SELECT item.id, title, slug, upc, item.description, is_public,
(SELECT name FROM catalogue_category AS kind JOIN catalogue_productcategory ON kind.id = category_id
WHERE product_id = item.id) AS category,
{_attribute("maker")} AS maker, {_attribute("guarantee")} AS guarantee,
printf('%.2f', price) AS price, num_in_stock AS stock
FROM catalogue_product AS item JOIN partner_stockrecord ON product_id = item.id ORDER BY item.id
"""
_LINES = """
(SELECT group_concat(quantity || ' ' || title, ', ')
FROM (SELECT quantity, title FROM order_line WHERE order_id = item.id ORDER BY title))
"""
_ORDER = f"""
SELECT CASE WHEN date_placed < '{_BEGIN}' THEN number ELSE 'new' END AS number, {_CUSTOMER} AS customer, status,
printf('%.2f', total_incl_tax) AS total, {_LINES} AS lines,
{_of("order_shippingaddress", "shipping_address_id", _ADDRESS)} AS sent_to, shipping_code AS shipping,
guest_email FROM order_order AS item ORDER BY id
"""
_QUERIES = {
    "product": _PRODUCT,
    "order": _ORDER,
    "address": f"SELECT {_CUSTOMER} AS customer, title, first_name, last_name, line1, line2, "
    "line3, line4 AS city, state, postcode, country_id AS country, phone_number AS phone, notes, "
    "CASE WHEN is_default_for_shipping THEN 'yes' END AS ships, "
    "CASE WHEN is_default_for_billing THEN 'yes' END AS bills FROM address_useraddress AS item ORDER BY id",
    "basket line": f"SELECT {_OWNER} AS customer, status, title AS product, "
    "CAST(quantity AS TEXT) AS quantity FROM basket_line AS line JOIN basket_basket AS item ON item.id = basket_id "
    "JOIN catalogue_product AS product ON product.id = product_id WHERE status != 'Submitted' ORDER BY line.id",
    "voucher": "SELECT basket_id AS basket, voucher_id AS voucher FROM basket_basket_vouchers",
    "wish list": f"SELECT name, {_OWNER} AS customer, visibility FROM wishlists_wishlist AS item ORDER BY id",
    "wish": "SELECT name AS list, product.title AS product, quantity FROM wishlists_line AS line "
    "JOIN wishlists_wishlist AS held ON held.id = wishlist_id JOIN catalogue_product AS product "
    "ON product.id = product_id ORDER BY line.id",
    "review": f"SELECT {_TITLE} AS product, "
    f"{_CUSTOMER} AS customer, score, title, body, name, email, status "
    "FROM reviews_productreview AS item ORDER BY id",
    "vote": f"SELECT review_id AS review, {_CUSTOMER} AS customer, delta FROM reviews_vote AS item",
    "alert": f"SELECT {_TITLE} AS product, {_CUSTOMER} AS customer, email, status FROM customer_productalert AS item",
    "customer": "SELECT first_name, last_name, email, is_active, is_staff, is_superuser, "
    "substr(password, 1, 1) AS password FROM auth_user",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return [record for kind, query in _QUERIES.items() for record in rows(state / DATABASE, kind, query)]


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
