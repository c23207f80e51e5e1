"""How an organiser who knows pretalx does what is asked there: search for the proposal, then use its tabs and forms."""

import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    click,
    clicked,
    done,
    first,
    give_up,
    in_turn,
    on,
    say,
    scroll,
    scroll_up,
    when,
    write,
)
from environments.sites.expert.reading import Element

SAVED = "I should click 'Save'."
SURE = "I should click 'Do it'."


def page(title: str, *rules: Rule) -> Rule:
    """`rules` on the organisers' page with this title."""
    return on(rf"\s*{title}\s*::", *rules)


def listed(what: str, menu: str, sought: str, *rules: Rule) -> Rule:
    """Search one of the lists, and use `rules` on what is found."""
    here = page(rf"\d+ {what}s?", when(lambda now: now.said(f"I should type '{sought}'"), *rules), search(sought))
    return first(here, click(menu), scroll_up)


def search(sought: str) -> Rule:
    return write("Search.*", sought)


def find(title: str, *rules: Rule) -> Rule:
    """Search for a proposal, and use `rules` on what is found; without any, open it."""
    nothing = when(lambda now: now.title.strip().startswith("0 "), give_up("There is no such session."))
    return listed("session", "Sessions", title, nothing, *(rules or (click(rf"\s*{re.escape(title)}\s*"), scroll)))


def proposal(title: str, *rules: Rule) -> Rule:
    """`rules` on the pages of this proposal, or on the way there."""
    return first(page(re.escape(title), *rules, scroll), find(title))


def value(field: str) -> Callable[[Situation], str]:
    """What a form's field of this name holds."""

    def read(now: Situation) -> str:
        return ""

    return read


SOLVERS: dict[str, Callable[..., Rule]] = {}
