"""Rules: what an expert does when a page shows something. A plan is a list of them; the first that applies decides.

Other than on the embedded sites, an expert here looks back at what it has said: forms of real applications do not show
all that was done.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.apps.templates import NOT_POSSIBLE
from environments.sites.expert.reading import Element, Page

CLICKABLE = ("link", "button", "tab", "checkbox", "radio", "option", "menuitem")
FIELDS = ("textbox", "searchbox", "combobox", "spinbutton")


@dataclass(frozen=True)
class Move:
    """What to do and why."""

    reason: str
    action: str


@dataclass(frozen=True)
class Situation:
    """The page, the expert's earlier replies, and what it is told of the last one beside the page."""

    page: Page
    past: tuple[str, ...]
    told: str = ""

    @property
    def title(self) -> str:
        """The whole title of the page."""
        return self.page.elements[0].name

    def named(self, roles: Sequence[str], pattern: str) -> list[Element]:
        """The elements of these roles whose whole name fits."""
        known = re.compile(pattern, re.IGNORECASE)
        return [element for element in self.page.elements if element.role in roles and known.fullmatch(element.name)]

    def said(self, words: str) -> bool:
        """Whether an earlier reply holds these words."""
        return any(words in reply for reply in self.past)

    def recalled(self, pattern: str) -> str:
        """The group of a pattern in the newest reply that fits, or ""."""
        found = (re.search(pattern, reply) for reply in reversed(self.past))
        return next((match[1] for match in found if match), "")


Rule = Callable[[Situation], Move | None]


def first(*rules: Rule) -> Rule:
    """The first of `rules` that applies."""
    return lambda now: next((move for rule in rules if (move := rule(now))), None)


def on(pattern: str, *rules: Rule) -> Rule:
    """`rules` on pages whose title fits."""
    return lambda now: first(*rules)(now) if re.match(pattern, now.title, re.IGNORECASE) else None


def when(condition: Callable[[Situation], object], *rules: Rule) -> Rule:
    """`rules` where the condition holds."""
    return lambda now: first(*rules)(now) if condition(now) else None


def click(pattern: str) -> Rule:
    """Click the first thing whose name fits."""

    def apply(now: Situation) -> Move | None:
        found = now.named(CLICKABLE, pattern)
        return clicked(found[0]) if found else None

    return apply


def clicked(element: Element) -> Move:
    return Move(f"I should click '{element.name}'.", f"Click [{element.label}]")


def write(field: str, text: str) -> Rule:
    """Type into the first field whose name fits, or choose there."""

    def apply(now: Situation) -> Move | None:
        found = now.named(FIELDS, field)
        return found[0] and typed(found[0], text) if found else None

    return apply


def typed(element: Element, text: str) -> Move:
    return Move(f"I should type '{text}' into '{element.name}'.", f"Type [{element.label}]; {text}")


def in_turn(*steps: Rule) -> Rule:
    """Each of the steps once, in this order; what is not in view is looked for further down."""

    def apply(now: Situation) -> Move | None:
        done = 0
        for reply in now.past:
            done += done < len(steps) and f"Step {done + 1} of {len(steps)}:" in reply
        if done == len(steps):
            return None
        move = steps[done](now) or scroll(now)
        is_step = not move.action.startswith("Scroll")
        return Move(f"Step {done + 1} of {len(steps)}: {move.reason}", move.action) if is_step else move

    return apply


def scroll(now: Situation) -> Move:
    """Look further down, to the end; then further up."""
    went_up = bool(now.past) and now.past[-1].endswith("Scroll [WINDOW]; up")
    at_end, at_top = (f"cannot be scrolled further {way}" in now.told for way in ("down", "up"))
    if at_end or (went_up and not at_top):
        return scroll_up(now)
    return Move("What I need is further down.", "Scroll [WINDOW]; down")


def scroll_up(now: Situation) -> Move:
    """Look further up."""
    return Move("What I need is further up.", "Scroll [WINDOW]; up")


def answer(text: str) -> Rule:
    return lambda now: Move("This is what was asked for.", f"ANSWER; {text}")


def give_up(why: str) -> Rule:
    return lambda now: Move(why, f"ANSWER; {NOT_POSSIBLE}")


def done(*said: str) -> Rule:
    """End when all of this was said."""
    return lambda now: Move("All is done.", "ANSWER; done") if all(map(now.said, said)) else None


def say(read: Callable[[Situation], str], label: str = "") -> Rule:
    """Answer with what is read on the page, where that is not empty; `label` is what stands before it."""

    def apply(now: Situation) -> Move | None:
        value = read(now)
        return Move(f"The page says '{label}{value}'.", f"ANSWER; {value}") if value else None

    return apply


def tell(pattern: str) -> Rule:
    """Answer with the group of the first element's name that fits."""
    return say(part(pattern))


def part(pattern: str) -> Callable[[Situation], str]:
    """The group of the first element's name that fits, or ""."""

    def read(now: Situation) -> str:
        found = (re.search(pattern, element.name, re.IGNORECASE) for element in now.page.elements)
        return next((match[1] for match in found if match), "")

    return read


def note(read: Callable[[Situation], str], then: Rule) -> Rule:
    """Before going on, say what is read on the page, where that is not empty; `noted` knows it later."""

    def apply(now: Situation) -> Move | None:
        value, move = read(now), then(now)
        return Move(f"I note '{value}'. {move.reason}", move.action) if value and move else None

    return apply


def noted(use: Callable[[str], Rule]) -> Rule:
    """What to do with the newest that was noted."""

    def apply(now: Situation) -> Move | None:
        value = now.recalled(r"I note '(.+?)'\.")
        return use(value)(now) if value else None

    return apply


def tell_after(label: str, role: str = "cell") -> Rule:
    """Answer with the name of the first `role` after the element with this name."""

    return say(lambda now: after(now, label, role), f"{label} ")


def after(now: Situation, label: str, role: str) -> str:
    """The name of the first `role` after the element with this name, or ""."""
    elements = iter(now.page.elements)
    if not any(element.name == label for element in elements):
        return ""
    return next((element.name for element in elements if element.role == role), "")
