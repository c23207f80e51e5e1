"""How somebody who knows Trac does what is asked there, page by page."""

import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    Move,
    Rule,
    Situation,
    answer,
    click,
    done,
    first,
    give_up,
    in_turn,
    note,
    noted,
    on,
    part,
    scroll,
    scroll_up,
    tell,
    tell_after,
    when,
    write,
)

COMMENT = "You may use WikiFormatting here."
SUBMITTED = "I should click 'Submit changes'."
CREATED = "I should click 'Create ticket'."
WIKI, SEARCH, ROADMAP, NEW_TICKET = "WIKI", "SEARCH", "ROADMAP", "NEW TICKET"


def _search(words: str, *found: Rule) -> Rule:
    """On the way to what a search for these words finds."""
    return first(on("Search Results", *found, scroll), on("Search –", write("Search", words)), _menu(SEARCH))


def find_ticket(subject: str) -> Rule:
    """On the way to the ticket with this summary."""
    return _search(subject, click(rf"#\d+: \w+: {re.escape(subject)} \(.+\)"))


def find_page(name: str) -> Rule:
    """The same to this page of the wiki."""
    return _search(name, click(rf"{name}: .+"))


def find_number(number: str) -> Rule:
    """The same to the ticket of this number."""
    return _search(f"#{number}", click(rf"Quickjump to #{number}"), none_found)


def _menu(entry: str) -> Rule:
    return first(click(entry), scroll_up)


def none_found(now: Situation) -> Move | None:
    return when(lambda now: now.named(("StaticText", "heading"), "No matches found.?"), give_up("There is none."))(now)


def on_ticket(subject: str, *rules: Rule) -> Rule:
    return on(rf"#\d+ \({re.escape(subject)}\)", *rules)


def on_number(number: str, *rules: Rule) -> Rule:
    return on(rf"#{number} ", *rules)


def change(*steps: Rule) -> Rule:
    """Open the form, do this there, send it."""
    return first(done(SUBMITTED), in_turn(click("Modify"), *steps, click("Submit changes")))


def assign(person: str) -> tuple[Rule, ...]:
    return click("reassign"), click(person)


def resolve(resolution: str) -> tuple[Rule, ...]:
    return click("resolve"), click(resolution)


def page(name: str, *rules: Rule) -> Rule:
    """`rules` on a page of the wiki, or on the way there."""
    return first(
        on(rf"{name} –", *rules, scroll),
        on("TitleIndex", click(name), scroll),
        on("Ferry Services", click("Index")),
        _menu(WIKI),
    )


def _ship_page(ship: str, *rules: Rule) -> Rule:
    return page("Ship" + "".join(ship.split()), *rules)


def new_ticket(summary: str, *steps: Rule) -> Rule:
    fill = in_turn(*steps, write("Summary:", summary), click("Create ticket"))
    return first(done(CREATED), on("New Ticket", fill), _menu(NEW_TICKET))


def _file_ticket(subject: str, type: str, component: str, priority: str) -> Rule:
    fields = {"Type:": type, "Priority:": priority, "Component:": component}
    return new_ticket(subject, *(write(field, value) for field, value in fields.items()))


def _add_milestone(name: str) -> Rule:
    return first(
        on(rf"Milestone {re.escape(name)}", answer("done")),
        on("New Milestone", in_turn(write("Name:", name), click("Add milestone"))),
        on("Roadmap", click("Add new milestone"), scroll),
        _menu(ROADMAP),
    )


def _active(milestone: str, rule: Callable[[str], Rule]) -> Rule:
    """What to do with the roadmap's line `active: 12` of this milestone."""

    def apply(now: Situation) -> Move | None:
        elements = iter(now.page.elements)
        if not any(element.name == f"Milestone: {milestone}" for element in elements):
            return None
        line = next((element.name for element in elements if element.name.startswith("active: ")), "")
        return rule(line)(now) if line else None

    return first(on("Roadmap", apply, scroll), _menu(ROADMAP))


def _row(type: str, component: str, rule: Callable[[str], Rule]) -> Rule:
    """What to do with the number of the ticket in a table's row that holds both."""

    def apply(now: Situation) -> Move | None:
        number, cells = "", set[str]()
        for element in now.page.elements:
            if element.role == "cell" and re.fullmatch(r"#\d+", element.name):
                number, cells = element.name.removeprefix("#"), set()
            elif element.role == "cell":
                cells.add(element.name)
            if number and {type, component} <= cells:
                return rule(number)(now)
        return None

    return apply


def _the_one(type: str, component: str, milestone: str, rule: Callable[[str], Rule]) -> Rule:
    rows = on("Custom Query", _row(type, component, rule), scroll)
    return first(rows, _open_active(milestone))


def _open_active(milestone: str) -> Rule:
    def open_it(line: str) -> Rule:
        def apply(now: Situation) -> Move | None:
            elements = iter(now.page.elements)
            any(element.name == f"Milestone: {milestone}" for element in elements)
            link = next((one for one in elements if one.role == "link" and one.name == line), None)
            return link and Move(f"I should click '{line}'.", f"Click [{link.label}]")

        return apply

    return _active(milestone, open_it)


def _give_to_on_call(number: str) -> Rule:
    hand_over = noted(lambda person: first(on_number(number, change(*assign(person))), find_number(number)))
    return first(hand_over, page("ProjectTeam", note(part(r"On call this month: (\w+)\."), click(SEARCH))))


def _captain_ticket(ship: str, component: str) -> Rule:
    file = noted(lambda captain: new_ticket(captain, write("Component:", component)))
    return first(file, _ship_page(ship, note(part(r"Captain: (\w+ \w+)"), click(NEW_TICKET))))


def _no_such_component(subject: str, component: str) -> Rule:
    def lacks(now: Situation) -> bool:
        return bool(now.named(("combobox",), "Component:")) and not now.named(("option",), re.escape(component))

    is_not_there = when(lacks, give_up("There is no such component."))
    return first(on_ticket(subject, is_not_there, click("Modify"), scroll_up), find_ticket(subject))


def _edit(subject: str, *steps: Rule) -> Rule:
    return first(on_ticket(subject, change(*steps)), find_ticket(subject))


def _look_up(subject: str, label: str) -> Rule:
    return first(on_ticket(subject, tell_after(label)), find_ticket(subject))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "ticket-owner": lambda subject: _look_up(subject, "Owned by:"),
    "ticket-component": lambda subject: _look_up(subject, "Component:"),
    "ticket-version": lambda subject: _look_up(subject, "Version:"),
    "ticket-milestone": lambda subject: _look_up(subject, "Milestone:"),
    "ticket-priority": lambda number: first(on_number(number, tell_after("Priority:")), find_number(number)),
    "active-tickets": lambda milestone: _active(milestone, lambda line: answer(line.removeprefix("active: "))),
    "ship-capacity": lambda ship: _ship_page(ship, tell(r"carries (\d+) passengers")),
    "office-hours": lambda person: page("OfficeHours", tell(rf"^{person}: (\w+) from")),
    "open-ticket": lambda subject: first(on_ticket(subject, answer("done")), find_ticket(subject)),
    "open-ship": lambda ship: _ship_page(ship, answer("done")),
    "open-page": lambda page: first(on(rf"{page} –", answer("done")), find_page(page)),
    "file-ticket": _file_ticket,
    "add-milestone": _add_milestone,
    "set-priority": lambda subject, priority: _edit(subject, write("Priority:", priority)),
    "move-ticket": lambda subject, milestone: _edit(subject, write("Milestone:", milestone)),
    "close-ticket": lambda subject, resolution: _edit(subject, *resolve(resolution)),
    "hand-over": lambda subject, person: _edit(subject, *assign(person)),
    "comment": lambda subject, text: first(
        done(SUBMITTED),
        on_ticket(subject, in_turn(write(COMMENT, text), click("Submit changes"))),
        find_ticket(subject),
    ),
    "find-the-one": lambda type, component, milestone: _the_one(type, component, milestone, answer),
    "raise-the-one": lambda type, component, milestone, priority: first(
        on(r"#\d+ ", change(write("Priority:", priority))),
        _the_one(type, component, milestone, lambda number: click(f"#{number}")),
    ),
    "give-to-on-call": _give_to_on_call,
    "captain-ticket": _captain_ticket,
    "close-duplicate": lambda number, other: first(
        on_number(number, change(*resolve("duplicate"), write(COMMENT, f"Same as #{other}"))),
        find_number(number),
    ),
    "no-such-component": _no_such_component,
    "no-such-ticket": lambda number: first(on_number(number, scroll), find_number(number)),
}
