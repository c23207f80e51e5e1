"""How somebody who knows Fossil does what is asked there. A form is sent in two steps: Preview, then Submit."""

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
    part,
    say,
    scroll,
    scroll_up,
    tell,
    when,
    write,
)
from environments.sites.expert.reading import Element

SUBMITTED = "I should click 'Submit'."
_SITE = "Tide Tables: "
_KEY = r"[0-9a-f]{10}"


def page(name: str, *rules: Rule) -> Rule:
    """`rules` on the page of this title."""
    return on(rf"{_SITE}{name}", *rules)


def _menu(entry: str) -> Rule:
    return first(click(entry), scroll_up)


def find(words: str, link: str) -> Rule:
    """On the way to what a search for these words finds."""
    return first(
        page("Search Results", click(link), when(_is_empty, give_up("There is none.")), scroll),
        page("Search", write("s", words)),
        _menu("Search"),
    )


def _is_empty(now: Situation) -> bool:
    return any(element.name.startswith("No matches for") for element in now.page.elements)


def find_ticket(title: str) -> Rule:
    return find(title, rf"Ticket: {re.escape(title)} \(.+\)")


def following(now: Situation, label: str) -> str:
    """What stands after this label, or ""."""
    elements = iter(now.page.elements)
    if not any(element.name.strip() == label for element in elements):
        return ""
    return next((name for element in elements if (name := element.name.strip()) and name != label), "")


def on_ticket(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of this ticket."""
    return page("View Ticket", when(lambda now: following(now, "Title:") == title, *rules, scroll))


def _look_up(title: str, label: str) -> Rule:
    return first(on_ticket(title, say(lambda now: following(now, label), f"{label} ")), find_ticket(title))


def send(*steps: Rule) -> Rule:
    """Do this in the form, then send it."""
    return first(done(SUBMITTED), page("(?:Edit|New) Ticket", in_turn(*steps, click("Submit")), scroll))


def edit(title: str, *steps: Rule) -> Rule:
    """Change the ticket by its form."""
    return first(send(*steps, click("Preview")), on_ticket(title, click("Edit")), find_ticket(title))


def _rename(title: str, new: str) -> Rule:
    """ENTER in the field asks for the preview."""
    return first(send(write("title", new)), on_ticket(title, click("Edit")), find_ticket(title))


def _file_ticket(title: str, type: str, severity: str, release: str) -> Rule:
    form = send(write("type", type), write("severity", severity), write("title", title), write("foundin", release))
    return first(form, page("All Tickets", click("New Ticket"), scroll_up), _menu("Tickets"))


def wiki(name: str, *rules: Rule) -> Rule:
    """`rules` on a page of the wiki, or on the way there."""
    end = when(lambda now: "cannot be scrolled further down" in now.told, give_up("There is no such page."))
    return first(
        page(name, *rules, scroll),
        page("Available Wiki Pages", click(name), end, scroll),
        _menu("Wiki"),
    )


def author(comment: str = "") -> Rule:
    """Who made the check-in in view that has this comment."""
    return tell(rf"{re.escape(comment)}.* user:\s(\w+)")


def _release_author(release: str) -> Rule:
    return first(
        when(lambda now: now.said(f"I should click 'release-{release}'"), author(), scroll),
        page("Tags", click(f"release-{release}"), scroll),
        _menu("Releases"),
    )


def _check_in_author(comment: str) -> Rule:
    found = when(lambda now: now.said("I should click 'Check-in ["), author(comment), scroll)
    return first(page("Timeline", author(comment), found), find(comment, "Check-in .+"))


def _rows(now: Situation) -> list[tuple[Element, list[str]]]:
    """The link to each ticket in the list, with what stands beside it."""
    rows: list[tuple[Element, list[str]]] = []
    for element in now.page.elements:
        if element.role == "link" and re.fullmatch(_KEY, element.name):
            rows.append((element, []))
        elif rows and element.role == "cell" and not re.fullmatch(_KEY, element.name):
            rows[-1][1].append(element.name.strip())
    return rows


def _the_one(type: str, status: str, rule: Callable[[Element, str], Rule]) -> Rule:
    def apply(now: Situation) -> Move | None:
        whole = [(link, cells) for link, cells in _rows(now) if len(cells) == len(("mtime", "type", "status", "title"))]
        found = [(link, cells[-1]) for link, cells in whole if {type, status} <= set(cells)]
        return rule(*found[0])(now) if found else None

    return first(page("All Tickets", apply, scroll), _menu("Tickets"))


def _set_the_one(type: str, status: str, value: str) -> Rule:
    return first(
        send(write("priority", value), click("Preview")),
        page("View Ticket", click("Edit"), scroll_up),
        _the_one(type, status, lambda link, title: lambda now: clicked(link)),
    )


def _copy_severity(title: str, other: str) -> Rule:
    severity = note(lambda now: following(now, "Severity:"), _menu("Search"))
    copy = noted(lambda value: edit(title, write("severity", value)))
    return first(copy, on_ticket(other, severity), find_ticket(other))


def _reviewer(title: str) -> Rule:
    look_up = noted(lambda value: wiki("Who Reviews What", tell(rf"{value}: (\w+)")))
    type = note(lambda now: following(now, "Type:"), _menu("Wiki"))
    return first(look_up, on_ticket(title, type), find_ticket(title))


def _keeper_remark(title: str, harbor: str) -> Rule:
    keeper = note(part(r"Keeper of the gauge: (\w+)"), _menu("Search"))
    return first(noted(lambda value: edit(title, write("icomment", value))), wiki(f"Harbor {harbor}", keeper))


def _no_such_severity(title: str, value: str) -> Rule:
    def lacks(now: Situation) -> bool:
        return bool(now.named(("option",), "Cosmetic")) and not now.named(("option",), value)

    form = page("Edit Ticket", when(lacks, give_up("There is no such severity.")), scroll)
    return first(form, on_ticket(title, click("Edit")), find_ticket(title))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "ticket-severity": lambda title: _look_up(title, "Severity:"),
    "ticket-priority": lambda title: _look_up(title, "Priority:"),
    "ticket-status": lambda title: _look_up(title, "Status:"),
    "ticket-type": lambda title: _look_up(title, "Type:"),
    "ticket-release": lambda title: _look_up(title, "Version\xa0Found\xa0In:"),
    "highest-tide": lambda harbor: wiki(f"Harbor {harbor}", tell(r"Highest tide so far: (\d+)")),
    "release-author": _release_author,
    "check-in-author": _check_in_author,
    "open-ticket": lambda title: first(on_ticket(title, answer("done")), find_ticket(title)),
    "open-harbor": lambda harbor: wiki(f"Harbor {harbor}", answer("done")),
    "file-ticket": _file_ticket,
    "add-remark": lambda title, text: edit(title, write("icomment", text)),
    "set-severity": lambda title, value: edit(title, write("severity", value)),
    "set-priority": lambda title, value: edit(title, write("priority", value)),
    "close-ticket": lambda title, resolution: edit(title, write("status", "Closed"), write("resolution", resolution)),
    "rename-ticket": _rename,
    "find-the-one": lambda type, status: _the_one(type, status, lambda link, title: answer(title)),
    "set-the-one": _set_the_one,
    "copy-severity": _copy_severity,
    "reviewer": _reviewer,
    "keeper-remark": _keeper_remark,
    "no-such-ticket": lambda title, value: edit(title, write("severity", value)),
    "no-such-severity": _no_such_severity,
    "no-such-harbor": lambda harbor: wiki(f"Harbor {harbor}", scroll),
}
