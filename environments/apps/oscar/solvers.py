"""How a customer who knows the shop does what is asked there: search for the product, or go through the account."""

import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    after,
    answer,
    click,
    clicked,
    done,
    first,
    give_up,
    in_turn,
    note,
    noted,
    on,
    scroll,
    scroll_up,
    tell_after,
    when,
    write,
)
from environments.sites.expert.reading import Element

IN_STOCK = "In stock"
BASKET = r"Basket \|"
_COSTS = r"'([^';]+)' costs (\d+\.\d\d)"
ADDED = "I should click 'Add to basket'."


def on_product(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of this product, or on the way there."""
    return first(on(rf"{re.escape(title)} \|", *rules, scroll), find(title))


def find(title: str) -> Rule:
    """Search for it, and choose it among what is found."""
    nothing = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such product."))
    results = on(rf'"{re.escape(title)}" \|', click(re.escape(title)), nothing, scroll)
    return first(results, write("Search", title), scroll_up)


def account(tab: str, *rules: Rule) -> Rule:
    """`rules` on this page of the account, or on the way there."""
    return first(on(rf"{tab} \|", *rules, scroll), click(tab), click(r"\W*Account"), scroll_up)


def order(number: str, *rules: Rule) -> Rule:
    """`rules` on the page of this order, or on the way there."""
    return first(on(rf"Order #{number} \|", *rules, scroll), account("Order History", click(number)))


def basket(*rules: Rule) -> Rule:
    """`rules` in the basket, or on the way there."""
    return first(on(BASKET, *rules, scroll), click("View basket"), scroll_up)


def line(now: Situation, title: str) -> list[Element]:
    """What stands in the basket from the last link of this name to the next product."""
    elements = list(now.page.elements)
    places = [place for place, one in enumerate(elements) if one.role == "link" and one.name == title]
    if not places:
        return []
    found: list[Element] = []
    for element in elements[places[-1] + 1 :]:
        if element.role == "heading" or (element.role == "link" and element.name == "Proceed to checkout"):
            break
        found.append(element)
    return found


def on_line(title: str, roles: tuple[str, ...], name: str, text: str = "") -> Rule:
    """Click this in a product's line of the basket, or type there."""

    def apply(now: Situation) -> Move | None:
        for element in line(now, title):
            if element.role in roles and re.fullmatch(name, element.name):
                if text:
                    return Move(f"I should type '{text}' as its quantity.", f"Type [{element.label}]; {text}")
                return clicked(element)
        return None

    return apply


def _price(product: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        said = after(now, "Price (incl. tax)", "cell")
        value = re.sub(r"[^\d.]", "", said)
        return Move(f"The page says '{said}'.", f"ANSWER; {value}") if value else None

    return on_product(product, tell)


def _recipient(number: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        found = " ".join(after(now, "Shipping Notes", "cell").split()[:2])
        return Move(f"It went to '{found}'.", f"ANSWER; {found}") if found else None

    return order(number, tell)


def _status(number: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        names = iter([element.name.strip() for element in now.page.elements])
        any(name == "Status" for name in names)
        value = next((name for name in names if name != "Status"), "")
        return Move(f"It says '{value}'.", f"ANSWER; {value}") if value else None

    return order(number, tell)


def _into_basket(product: str, quantity: str) -> Rule:
    """One first, then as many as are wanted."""
    more = when(lambda now: now.said(ADDED), _quantity(product, quantity))
    return first(more, on_product(product, click("Add to basket")))


def _sold_out(title: str) -> Rule:
    out = when(lambda now: now.named(("button",), "Notify me"), give_up("It is sold out."))
    return on_product(title, out)


def _new_address(first_name: str, last: str, street: str, postcode: str, city: str, country: str) -> Rule:
    """ENTER in a field sends the form: what must be there comes last."""
    written = when(lambda now: now.said(f"I should type '{first_name}'"), answer("done"))
    fields = (
        *(write(r"Country\W*", country), write(r"Last name\W*", last), write(r"First line of address\W*", street)),
        *(write(r"City\W*", city), write(r"Post/Zip-code\W*", postcode), write(r"First name\W*", first_name)),
    )
    form = on(r"Add a new address \|", in_turn(*fields))
    return first(written, form, account("Address Book", click("Add a new address")))


def _change_street(person: str, street: str) -> Rule:
    def edit(now: Situation) -> Move | None:
        elements = iter(now.page.elements)
        any(element.role == "cell" and element.name.startswith(person) for element in elements)
        button = next((element for element in elements if element.role == "link" and element.name == "Edit"), None)
        return button and clicked(button)

    written = when(lambda now: now.said(f"I should type '{street}'"), answer("done"))
    form = on(r"Edit address \|", write(r"First line of address\W*", street), scroll)
    return first(written, form, account("Address Book", edit))


def _wish(product: str, list: str) -> Rule:
    link = click(rf"\s*Add to '{re.escape(list)}' wish list\s*")
    chosen = when(lambda now: now.said(f"Add to '{list}'"), answer("done"))
    return first(chosen, on_product(product, link, click("Add to wish list")))


def _new_list(name: str) -> Rule:
    written = when(lambda now: now.said(f"I should type '{name}'"), answer("done"))
    form = on(r"Create a new wish list \|", write(r"Name\W*", name))
    return first(written, form, account("Wish Lists", click("Create a new wish list")))


def priced(now: Situation) -> list[tuple[str, float, str]]:
    """(title, price, what is said of its stock, "" while that is further down) of each product on a category's page."""
    found: list[tuple[str, float, str]] = []
    titles = [element.name for element in now.page.elements if element.role == "heading"]
    title = ""
    for element in now.page.elements:
        said = element.name.strip()
        if element.role in ("heading", "link") and element.name in titles:
            title = element.name
        elif title and (match := re.fullmatch(r"\W*(\d[\d,]*\.\d\d)", said)):
            found.append((title, float(match[1].replace(",", "")), ""))
        elif found and found[-1][0] == title and said in (IN_STOCK, "Unavailable"):
            found[-1] = (*found[-1][:2], said)
    return found


def on_category(name: str, *rules: Rule) -> Rule:
    return first(on(rf"{name} \|", *rules, scroll), click(name), scroll_up)


def _between(category: str, low: str, high: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        fit = [title for title, price, _ in priced(now) if float(low) < price < float(high)]
        return Move(f"'{fit[0]}' costs as much.", f"ANSWER; {fit[0]}") if fit else None

    return on_category(category, tell)


def _cheapest(category: str) -> Rule:
    """Read to the end of the category, and remember prices."""

    def read(now: Situation) -> Move | None:
        said = "; ".join(f"'{title}' costs {price:.2f}" for title, price, stock in priced(now) if stock == IN_STOCK)
        if "cannot be scrolled further down" not in now.told:
            return Move(f"{said}. There may be others further down.", "Scroll [WINDOW]; down")
        known = [(float(price), title) for title, price in re.findall(_COSTS, " ".join((*now.past, said)))]
        if not known:
            return None
        move = first(write("Search", min(known)[1]), scroll_up)(now)
        return move and Move(f"I note '{min(known)[1]}'. {move.reason}", move.action)

    add = noted(lambda title: on_product(title, click("Add to basket")))
    return first(done(ADDED), add, on_category(category, read))


def _order_by_total(total: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        number = ""
        for element in now.page.elements:
            number = element.name if re.fullmatch(r"\d{6}", element.name) else number
            if number and re.fullmatch(rf"\W*{re.escape(total)}", element.name.replace(",", "").strip()):
                return Move(f"Order {number} came to as much.", f"ANSWER; {number}")
        return None

    return account("Order History", tell)


def _ship_to(person: str) -> Rule:
    def ship(now: Situation) -> Move | None:
        elements = iter(now.page.elements)
        if not any(person in element.name for element in elements):
            return None
        button = next((one for one in elements if one.role == "button" and one.name == "Ship to this address"), None)
        return button and clicked(button)

    return ship


def _check_out(person: str) -> Rule:
    """Where the page after the order did not come in time, an empty basket says that there is an order."""
    placed = when(lambda now: now.said("I should click 'Place order'."), _is_placed)
    return first(
        on("Order .*: confirmation", answer("done")),
        placed,
        on(r"Shipping address \|", _ship_to(person), scroll),
        on(r"Payment details \|", click("Continue"), scroll),
        on(r"Order preview \|", click("Place order"), scroll),
        basket(click("Proceed to checkout")),
    )


def _is_placed(now: Situation) -> Move | None:
    if now.named(("button",), r"Submitting\W*"):
        return Move("The next page did not come.", "Restart")
    return on(r"All products \|", when(lambda now: now.named(("StaticText",), r"\W*0\.00\W*"), answer("done")))(now)


def _order_again(number: str) -> Rule:
    again = "Re-order all items"
    return first(done(f"I should click '{again}'."), order(number, click(again)))


def _wish_again(number: str, list: str) -> Rule:
    def bought(now: Situation) -> str:
        links = iter(now.page.elements)
        any(element.name == "Product" for element in links)
        return next((one.name for one in links if one.role == "link" and one.name != "Write a review"), "")

    wish = noted(lambda title: _wish(title, list))
    return first(wish, order(number, note(bought, lambda now: first(write("Search", bought(now)), scroll_up)(now))))


def _in_basket(title: str, name: str) -> Rule:
    """Click this in a product's line of the basket."""
    return first(done(f"I should click '{name}'."), basket(on_line(title, ("link",), name)))


def _quantity(product: str, quantity: str) -> Rule:
    """ENTER in the field of the quantity sends it."""
    written = when(lambda now: now.said(f"I should type '{quantity}'"), answer("done"))
    return first(written, basket(on_line(product, ("spinbutton",), ".*", quantity)))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "product-price": _price,
    "product-guarantee": lambda product: on_product(product, tell_after("Guarantee")),
    "product-maker": lambda product: on_product(product, tell_after("Maker")),
    "order-status": _status,
    "order-recipient": _recipient,
    "open-product": lambda product: on_product(product, answer("done")),
    "open-order": lambda number: order(number, answer("done")),
    "add-to-basket": _into_basket,
    "tell-me-when": lambda product: first(done("I should click 'Notify me'."), on_product(product, click("Notify me"))),
    "new-address": lambda first, **rest: _new_address(first, **rest),
    "new-wish-list": _new_list,
    "change-quantity": _quantity,
    "remove-from-basket": lambda product: _in_basket(product, "Remove"),
    "save-for-later": lambda product: _in_basket(product, "Save for later"),
    "change-street": _change_street,
    "add-to-wish-list": _wish,
    "find-by-price": _between,
    "buy-cheapest": _cheapest,
    "order-by-total": _order_by_total,
    "check-out": _check_out,
    "order-again": _order_again,
    "wish-again": _wish_again,
    "no-such-product": _into_basket,
    "sold-out": lambda product, quantity: _sold_out(product),
}
