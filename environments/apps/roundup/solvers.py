"""How somebody who knows Roundup does what is asked there, page by page. Its menus have no names, but labels before."""

import itertools
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
    note,
    noted,
    on,
    say,
    scroll,
    when,
    write,
)
from environments.sites.expert.reading import Element

SUBMITTED = "I should click 'Submit Changes'."
LISTED = "I should click 'Bugs'."
ASSIGNEE = "Assigned To"
Find = Callable[[str], Rule]
_LABELS = ("link", "StaticText", "rowheader")


def find_bug(title: str) -> Rule:
    """On the way to the bug of this title."""
    return first(on("List of bugs", click(re.escape(title)), *_look_through()), click("Bugs"), scroll)


def _look_through() -> tuple[Rule, ...]:
    """Through the list of all bugs to its end, and no further."""
    start = when(lambda now: not now.said(LISTED), click("Bugs"))
    at_end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such bug."))
    return start, at_end, scroll


def on_bug(title: str, *rules: Rule) -> Rule:
    return on(rf"Bug \d+: {re.escape(title)} - ", *rules)


def menu(now: Situation, label: str) -> list[Element]:
    """The options after this label."""
    options: list[Element] = []
    elements = iter(now.page.elements)
    any(element.role in _LABELS and element.name.rstrip(" :") == label for element in elements)
    for element in elements:
        if element.role == "option":
            options.append(element)
        elif options:
            break
    return options


def pick(label: str, option: str) -> Rule:
    """Choose in the menu after this label."""

    def apply(now: Situation) -> Move | None:
        found = next((one for one in menu(now, label) if one.name == option), None)
        return found and clicked(found)

    return apply


def chosen(now: Situation, label: str) -> str:
    """What is chosen in the menu after this label, or ""."""
    return next((option.name for option in menu(now, label) if option.selected), "")


def change(*steps: Rule) -> Rule:
    return first(done(SUBMITTED), in_turn(*steps, click("Submit Changes")))


def _edit(find: Find, title: str, *steps: Rule) -> Rule:
    return first(on_bug(title, change(*steps)), find(title))


def _look_up(find: Find, title: str, label: str) -> Rule:
    return first(on_bug(title, say(lambda now: chosen(now, label), f"{label}: "), scroll), find(title))


def _reporter(find: Find, title: str) -> Rule:
    def tell(now: Situation) -> Move | None:
        names = [element.name.strip() for element in now.page.elements]
        if "Created on" not in names:
            return None
        value = names[names.index("by", names.index("Created on")) + 1]
        return Move(f"The page says 'by {value}'.", f"ANSWER; {value}")

    return first(on_bug(title, tell, scroll), find(title))


def _report(title: str, type: str, severity: str, component: str) -> Rule:
    written = when(lambda now: now.said(f"I should type '{title}'"), answer("done"))
    fields = pick("Type", type), pick("Severity", severity), pick("Components", component)
    return first(written, on("New Bug", in_turn(*fields, write("Title", title))), click("Create New"))


def _rename(find: Find, title: str, new: str) -> Rule:
    written = when(lambda now: now.said(f"I should type '{new}'"), answer("done"))
    return first(written, on_bug(title, write("Title", new)), find(title))


def _rows(now: Situation) -> list[tuple[str, Element | None, list[str]]]:
    """(number, link, what stands in the other cells) of each bug in the list. A row begins before its number."""
    rows: list[tuple[str, Element | None, list[str]]] = []
    cells = [element for element in now.page.elements if element.role in ("cell", "link")]
    for before, element in itertools.pairwise(cells):
        if element.role == "cell" and re.fullmatch(r"\d+", element.name):
            if rows and before.role == "cell":
                rows[-1][2].pop()
            rows.append((element.name, None, [before.name]))
        elif rows and element.role == "cell":
            rows[-1][2].append(element.name)
        elif rows and rows[-1][1] is None:
            rows[-1] = (rows[-1][0], element, rows[-1][2])
    return rows


def _the_one(wanted: set[str], rule: Callable[[str, Element], Rule]) -> Rule:
    def apply(now: Situation) -> Move | None:
        for number, link, cells in _rows(now):
            if wanted <= set(cells) and link is not None and now.said(LISTED):
                return rule(number, link)(now)
        return None

    return first(on("List of bugs", apply, *_look_through()), click("Bugs"), scroll)


def _assign_the_one(severity: str, component: str, status: str, person: str) -> Rule:
    wanted = {severity, component, status}
    return first(
        on(r"Bug \d+: ", change(pick(ASSIGNEE, person))),
        _the_one(wanted, lambda number, link: lambda now: clicked(link)),
    )


def _copy(find: Find, label: str) -> Callable[[str, str], Rule]:
    """The value of one bug into another one."""

    def solver(title: str, other: str) -> Rule:
        copy = noted(lambda value: _edit(find, title, pick(label, value)))
        return first(copy, on_bug(other, note(lambda now: chosen(now, label), click("Bugs")), scroll), find(other))

    return solver


def _no_such_person(find: Find, title: str, person: str) -> Rule:
    def lacks(now: Situation) -> bool:
        return bool(menu(now, ASSIGNEE)) and person not in [option.name for option in menu(now, ASSIGNEE)]

    return first(on_bug(title, when(lacks, give_up("There is no such person.")), scroll), find(title))


def solvers(find: Find) -> dict[str, Callable[..., Rule]]:
    """Of the skin whose lists let one find a bug so."""
    return {
        "bug-assignee": lambda title: _look_up(find, title, ASSIGNEE),
        "bug-severity": lambda title: _look_up(find, title, "Severity"),
        "bug-reporter": lambda title: _reporter(find, title),
        "bug-resolution": lambda title: _look_up(find, title, "Resolution"),
        "open-bug": lambda title: first(on_bug(title, answer("done")), find(title)),
        "report-bug": _report,
        "set-severity": lambda title, value: _edit(find, title, pick("Severity", value)),
        "set-priority": lambda title, value: _edit(find, title, pick("Priority", value)),
        "assign-bug": lambda title, value: _edit(find, title, pick(ASSIGNEE, value)),
        "close-bug": lambda title, resolution: _edit(
            find, title, pick("Status", "closed"), pick("Resolution", resolution)
        ),
        "rename-bug": lambda title, new: _rename(find, title, new),
        "find-the-one": lambda severity, component, status: _the_one(
            {severity, component, status}, lambda number, link: answer(number)
        ),
        "assign-the-one": _assign_the_one,
        "copy-assignee": _copy(find, ASSIGNEE),
        "copy-severity": _copy(find, "Severity"),
        "no-such-person": lambda title, person: _no_such_person(find, title, person),
        "no-such-bug": lambda title, value: _edit(find, title, pick("Priority", value)),
    }


SOLVERS = solvers(find_bug)
