"""Rules: what an expert does when a page shows something. A plan is a list of rules; the first that applies decides."""

import dataclasses
from collections.abc import Callable

from environments.sites.expert.reading import Element, Page

CLICKABLE = ("link", "button", "tab")
FIELDS = ("textbox", "searchbox", "combobox")


@dataclasses.dataclass(frozen=True)
class Move:
    """What to do and why: `reason` is one of three sentences that the starting policy has read before.

    `goal` is what the agent is after at this point of the way; nothing when the page ends the task or still loads.
    """

    reason: str
    action: str
    goal: str = ""


Rule = Callable[[Page], Move | None]


def first(*rules: Rule) -> Rule:
    """The first of `rules` that applies."""

    def apply(page: Page) -> Move | None:
        return next((move for rule in rules if (move := rule(page))), None)

    return apply


def on(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of this title."""
    return lambda page: first(*rules)(page) if page.title == title else None


def when(name: str, *rules: Rule) -> Rule:
    """`rules` on pages with something clickable of this name."""
    return lambda page: first(*rules)(page) if page.find(CLICKABLE, name) else None


def click(name: str, goal: str = "") -> Rule:
    """Click what bears this name, on the way to `goal` (when not given, the name)."""

    def apply(page: Page) -> Move | None:
        element = page.find(CLICKABLE, name)
        return element and click_element(element, goal or name)

    return apply


def click_element(element: Element, goal: str) -> Move:
    return Move(f"I should click '{element.name}'.", f"Click [{element.label}]", goal)


def type_into(field: str, text: str) -> Rule:
    """Type into the field of this name."""

    def apply(page: Page) -> Move | None:
        element = page.find(FIELDS, field)
        return element and _type(element, text)

    return apply


def fill(field: str, text: str) -> Rule:
    """Type into the field unless the text stands in it."""

    def apply(page: Page) -> Move | None:
        element = page.find(FIELDS, field)
        if element is None or any(inside.name.strip() == text for inside in page.below(element)):
            return None
        return _type(element, text)

    return apply


def choose(field: str, option: str) -> Rule:
    """Choose the option in the drop-down of this name unless it is chosen."""

    def apply(page: Page) -> Move | None:
        element = page.find(FIELDS, field)
        if element is None or any(inside.name == option and inside.selected for inside in page.below(element)):
            return None
        return _type(element, option)

    return apply


def tell(label: str) -> Rule:
    """Answer with the fact of this label, the first on the page."""

    def apply(page: Page) -> Move | None:
        for element in page.elements:
            if element.role == "StaticText" and element.name.startswith(f"{label}: "):
                return _answer(element, element.name.removeprefix(f"{label}: "), goal=label)
        return None

    return apply


def tell_first_below(heading: str) -> Rule:
    """Answer with the name of the first link below a heading."""

    def apply(page: Page) -> Move | None:
        top = page.find(("heading",), heading)
        links = (
            [] if top is None else [link for link in page.elements if link.role == "link" and link.label > top.label]
        )
        return _answer(links[0], links[0].name, goal=heading) if links else None

    return apply


def done(confirmation: str) -> Rule:
    """End when the page confirms."""

    def apply(page: Page) -> Move | None:
        element = page.find(("StaticText",), confirmation)
        return element and _answer(element, "done")

    return apply


def wait(page: Page) -> Move | None:
    """Wait while something loads."""
    return Move("The page says 'Loading'.", "Wait") if page.find(("StaticText",), "Loading") else None


def _type(element: Element, text: str) -> Move:
    return Move(f"I should type '{text}' into '{element.name}'.", f"Type [{element.label}]; {text}", text)


def _answer(element: Element, value: str, goal: str = "") -> Move:
    return Move(f"The page says '{element.name}'.", f"ANSWER; {value}", goal)
