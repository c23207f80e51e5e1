"""How somebody who knows Roundup does what is asked there. This skin's list of bugs shows their titles only."""

import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    click,
    clicked,
    first,
    give_up,
    in_turn,
    on,
    scroll,
    when,
    write,
)
from environments.apps.roundup.solvers import ASSIGNEE, change, chosen, pick, solvers

_ANY = "don't care"


def _press(now: Situation) -> Move | None:
    found = now.named(("button",), "Search")
    return clicked(found[0]) if found else None


def _next_one(now: Situation) -> Move | None:
    """A bug of the list that was not looked at yet."""
    titles = {element.name for element in now.page.elements if element.role == "cell"}
    links = [element for element in now.page.elements if element.role == "link" and element.name in titles]
    return next((clicked(link) for link in links if not now.said(f"I should click '{link.name}'.")), None)


def _find_bug(title: str) -> Rule:
    """By a search, since the lists leave out what is closed."""
    any_status = when(lambda now: chosen(now, "Status") != _ANY, write("status", _ANY))
    at_end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such bug."))
    found = when(lambda now: now.said(f"I should type '{title}' into"), click(re.escape(title)), at_end, scroll)
    return first(on("Bug searching", any_status, write("title", title)), on("List of bugs", found), click("Search"))


def _the_one(severity: str, component: str, status: str, rule: Callable[[Situation], Move | None]) -> Rule:
    """One cannot search for a severity: what fits otherwise is opened, one bug after the other."""
    search = in_turn(click("Search"), write("components", component), write("status", status), _press)

    def judge(now: Situation) -> Move | None:
        found = chosen(now, "Severity")
        if found == severity or now.said("Step 1 of 2:"):
            return rule(now)
        return Move(f"Its severity is {found}.", "GoBack") if found else scroll(now)

    return first(on(r"Bug \d+: ", judge), search, on("List of bugs", _next_one, scroll))


def _tell_number(now: Situation) -> Move | None:
    number = re.match(r"Bug (\d+): ", now.title)
    return number and answer(number[1])(now)


SOLVERS: dict[str, Callable[..., Rule]] = {
    **solvers(_find_bug),
    "find-the-one": lambda severity, component, status: _the_one(severity, component, status, _tell_number),
    "assign-the-one": lambda severity, component, status, person: _the_one(
        severity, component, status, change(pick(ASSIGNEE, person))
    ),
}
