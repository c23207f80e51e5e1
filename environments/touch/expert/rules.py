"""Rules: what the expert does when the screen shows something. A plan is a list of rules; the first that applies
decides.

They use what a finger can do: tap, write where the cursor is, scroll, and the keys enter and home.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

from data.actions.action import Answer, Click, Restart, Scroll
from data.actions.point_action import AnyAction, Press, Write
from environments.sites.expert.reading import Element, Page

TAPPED = ("link", "button", "switch", "radio", "tab")
FIELDS = ("textbox", "searchbox")
COMPLETE = "success"


@dataclasses.dataclass(frozen=True)
class Seen:
    """The screen, and what the expert said before, in order."""

    page: Page
    said: Sequence[str]

    def has_said(self, words: str) -> bool:
        return any(words in reply for reply in self.said)

    def recall(self, label: str) -> str:
        """The fact that `remember` noted under this label."""
        noted = re.compile(rf"The screen says '{re.escape(label)}: (.*)'\.")
        return next((match[1] for reply in self.said if (match := noted.search(reply))), "")


@dataclasses.dataclass(frozen=True)
class Move:
    """What to do and why."""

    reason: str
    action: AnyAction


Rule = Callable[[Seen], Move | None]


def first(*rules: Rule) -> Rule:
    """The first of `rules` that applies."""
    return lambda seen: next((move for rule in rules if (move := rule(seen))), None)


def on(title: str, *rules: Rule) -> Rule:
    """`rules` on the screen of this title."""
    return lambda seen: first(*rules)(seen) if seen.page.title == title else None


def stages(*each: tuple[str, Rule]) -> Rule:
    """One after the other, each until its words were said (`tapped`, `noted`); then the task is complete."""

    def apply(seen: Seen) -> Move | None:
        rule = next((rule for words, rule in each if not seen.has_said(words)), None)
        return rule(seen) if rule else Move("Everything is done.", Answer(COMPLETE))

    return apply


def tapped(name: str) -> str:
    """What is said at a tap on what bears this name."""
    return f"I should tap '{name}'."


def noted(label: str) -> str:
    """How that begins what is said at a fact."""
    return f"The screen says '{label}: "


def in_app(name: str, *rules: Rule) -> Rule:
    """`rules`; where none of them applies, open the app from the home screen."""
    return first(*rules, on("Home screen", tap(name)), home)


def home(seen: Seen) -> Move | None:
    """Press home."""
    return Move("I should go to the home screen.", Restart())


def tap(name: str) -> Rule:
    """Tap what bears this name."""

    def apply(seen: Seen) -> Move | None:
        element = seen.page.find(TAPPED, name)
        return element and Move(tapped(name), Click(element.label))

    return apply


def look_for(name: str) -> Rule:
    """Tap it, or scroll down until it is there."""
    return first(tap(name), further(name))


def further(name: str) -> Rule:
    """Scroll down."""
    return lambda seen: Move(f"'{name}' must be further down.", Scroll(None, "down"))


def fill(field: str, text: str) -> Rule:
    """Write into the field of this name unless the text stands in it. What else stands in it is taken out before."""

    def apply(seen: Seen) -> Move | None:
        element = seen.page.find(FIELDS, field)
        if element is None or (written := _written(seen.page, element)) == text:
            return None
        if written:
            return tap(f"Clear {field}")(seen)
        if "focused: True" in element.properties:
            return Move(f"I should write '{text}'.", Write(text))
        return Move(tapped(field), Click(element.label))

    return apply


def search(field: str, text: str) -> Rule:
    """Write into a search field, and press enter."""
    enter = lambda seen: Move("I should press enter.", Press(("Enter",))) if seen.page.find(FIELDS, field) else None  # noqa: E731
    return first(fill(field, text), enter)


def choose(option: str) -> Rule:
    """Tap one of several that belong together, unless it is chosen."""

    def apply(seen: Seen) -> Move | None:
        element = seen.page.find(("radio", "tab"), option)
        is_chosen = element is None or element.selected or "checked: true" in element.properties
        return None if is_chosen else tap(option)(seen)

    return apply


def tell(label: str) -> Rule:
    """Answer with the fact of this label, the first on the screen."""
    return _at_fact(label, Answer)


def remember(label: str) -> Rule:
    """Note the fact of this label, for `Seen.recall`, and go on from the home screen."""
    return _at_fact(label, lambda fact: Restart())


def _at_fact(label: str, act: Callable[[str], AnyAction]) -> Rule:
    def apply(seen: Seen) -> Move | None:
        for element in seen.page.elements:
            if element.role == "StaticText" and element.name.startswith(f"{label}: "):
                return Move(f"The screen says '{element.name}'.", act(element.name.removeprefix(f"{label}: ")))
        return None

    return apply


def recalling(label: str, rule: Callable[[str], Rule]) -> Rule:
    """A rule that needs what was noted under this label."""
    return lambda seen: rule(seen.recall(label))(seen)


def _written(page: Page, field: Element) -> str:
    return next((inside.name.strip() for inside in page.below(field) if inside.role == "StaticText"), "")
