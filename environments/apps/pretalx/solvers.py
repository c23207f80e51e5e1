"""How an organiser who knows pretalx does what is asked there: search for it, then use tabs, forms and menus."""

import re
from collections.abc import Callable

from environments.apps.expert.rules import (
    FIELDS,
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
    tell,
    when,
    write,
)
from environments.sites.expert.reading import Element

SAVED, SURE, DELETED = "Save'.", "Do it'.", "Delete'."
"""What ends with the button; icons stand before their names."""
_MENU = "DisclosureTriangle"
_STATES = "submitted|accepted|confirmed|not accepted|withdrawn|canceled"
_WAITS = 3
"""So often the search is given time."""


def page(title: str, *rules: Rule) -> Rule:
    """`rules` on the organisers' page with this title."""
    return on(rf"\s*{title}\s*::", when(ours, *rules))


def ours(now: Situation) -> object:
    """Whether it is a page of organisers."""
    return now.named(("button",), r"\W*Log out")


def press(role: str, pattern: str) -> Rule:
    """Click the first thing of this role whose name fits."""

    def apply(now: Situation) -> Move | None:
        found = now.named((role,), pattern)
        return clicked(found[0]) if found else None

    return apply


def unfold(pattern: str) -> Rule:
    """Open the first menu whose name fits."""
    return press(_MENU, pattern)


def search(kind: str, name: str) -> Rule:
    """Search the whole conference for a session or a speaker."""

    def wait(now: Situation) -> Move | None:
        if sum(reply.endswith("Action: Wait") for reply in now.past) >= _WAITS:
            return give_up("Nothing of that name is found.")(now)
        return Move("The search takes a moment.", "Wait")

    box = r"Search \(Alt.*"
    typed = when(lambda now: now.named(FIELDS, box) and now.said(f"I should type '{name}' into 'Search"), wait)
    return first(click(rf"{kind} {re.escape(name)}\W.*"), typed, write(box, name), unfold(".*"))


def proposal(title: str, *rules: Rule) -> Rule:
    """`rules` on the first page of this proposal, or on the way there."""
    return first(page(re.escape(title), *rules), search("Session", title))


def tab(title: str, name: str, *rules: Rule) -> Rule:
    """`rules` on a proposal's page behind the tab of this name, or on the way there."""
    chosen = when(lambda now: any(one.selected for one in now.named(("tab",), name)), *rules, scroll)
    return proposal(title, chosen, click(name), scroll)


def menu(section: str, item: str) -> Rule:
    """An item of the menu beside each page, in its section, which is unfolded first."""

    def apply(now: Situation) -> Move | None:
        elements = list(now.page.elements)
        heads = [place for place, one in enumerate(elements) if re.fullmatch(rf"\W+{section}\W*", one.name)]
        if not heads:
            return None
        arrow = elements[heads[0] + 1]
        if "expanded: True" not in arrow.properties:
            return Move(f"I should unfold '{elements[heads[0]].name}'.", f"Click [{arrow.label}]")
        return clicked(next(one for one in elements[heads[0] + 2 :] if one.name == item))

    return first(apply, click("\uf0c9"))


def value(field: str) -> Callable[[Situation], str]:
    """What stands in the first field whose name fits, or is chosen there."""

    def read(now: Situation) -> str:
        elements = iter(now.page.elements)
        if not any(re.fullmatch(field, one.name) for one in elements):
            return ""
        shown = next(
            (one.name for one in elements if one.role in ("option", "StaticText") and one.name != "Optional"), ""
        )
        return shown.removeprefix("×").strip()

    return read


def choose(field: str, option: str) -> tuple[Rule, Rule]:
    """Steps that choose an option of the menu that stands after this word."""

    def drop(now: Situation) -> Move | None:
        elements = iter(now.page.elements)
        if not any(one.name == field for one in elements):
            return None
        return clicked(next(one for one in elements if one.role == "combobox"))

    return drop, click(re.escape(option))


def state(title: str, new: str) -> Rule:
    """Give a proposal another state."""
    sure = page(rf"→ [a-z]+\s*::\s*{re.escape(title)}", click(r"\W*Do it"))
    return first(sure, proposal(title, click(rf"\W*{new}"), unfold(rf"\W*({_STATES})\W*")))


def _when(day: str, time: str) -> str:
    """As a field for a time takes it; the conference is in January."""
    return f"2026-01-{re.findall(r'[0-9]+', day)[0]}T{time}"


def dated(field: str, text: str) -> Rule:
    """Type a time; ENTER may save the form, if all of it fits together."""

    def apply(now: Situation) -> Move | None:
        found = now.named(("DateTime",), f"{field}.*")
        return Move(f"I should type '{text}' into '{field}'.", f"Type [{found[0].label}]; {text}") if found else None

    return apply


def _edit(title: str, *steps: Rule) -> Rule:
    """Change a proposal in these steps and save it."""
    return first(done(SAVED), proposal(title, in_turn(*steps, click(r"\W*Save"))))


def _move(title: str, room: str) -> Rule:
    return _edit(title, *choose("Room", room))


def _reschedule(title: str, day: str, start: str, end: str) -> Rule:
    return _edit(title, dated("Start", _when(day, start)), dated("End", _when(day, end)))


def _place(title: str, room: str, day: str, start: str, end: str) -> Rule:
    return _edit(title, *choose("Room", room), dated("Start", _when(day, start)), dated("End", _when(day, end)))


def public(title: str, *rules: Rule) -> Rule:
    """`rules` on the page of a session that visitors see, or on the way there."""
    theirs = on(rf"\s*{re.escape(title)}\s*::", when(lambda now: not ours(now), *rules))
    return first(theirs, proposal(title, click(r"\W*Public link"), click(r"Links\W*")))


def rooms(room: str, *rules: Rule) -> Rule:
    """`rules` in the form of a room, or on the way there."""
    return first(page(rf"Room “{re.escape(room)}”", *rules, scroll), listed_rooms(click(re.escape(room))))


def listed_rooms(*rules: Rule) -> Rule:
    return first(page("Rooms", *rules, scroll), menu("Schedule", "Rooms"))


def _new_room(room: str, capacity: str) -> Rule:
    """The name comes last: ENTER sends the form, which is refused without one."""
    steps = in_turn(write("Capacity.*", capacity), write("English", room))
    return first(done(f"I should type '{room}'"), page("New room", steps), listed_rooms(click(r"\W*New room")))


def _capacity(room: str, capacity: str) -> Rule:
    return first(done(f"I should type '{capacity}'"), rooms(room, write("Capacity.*", capacity)))


def tags(*rules: Rule) -> Rule:
    return first(page("Tags", *rules, scroll), menu("Sessions", "Tags"))


def _new_type(type: str, minutes: str) -> Rule:
    """The name comes last: ENTER sends the form, which is refused without one."""
    form = page("New session type", in_turn(write("Default duration", minutes), write("English", type)))
    ways = first(page("Session types", click(r"\W*New type")), menu("Call for Proposals", "Session types"))
    return first(done(f"I should type '{type}'"), form, ways)


def _delete_tag(tag: str) -> Rule:
    def drop(now: Situation) -> Move | None:
        links = now.named(("link",), ".*")
        place = next((place for place, one in enumerate(links) if one.name.strip() == tag), None)
        return None if place is None else clicked(next(one for one in links[place:] if one.name.strip() == "\uf1f8"))

    return first(done(DELETED), page(rf"Tag “{re.escape(tag)}”", click(r"\W*Delete"), scroll), tags(drop))


def _comment(title: str, text: str) -> Rule:
    return first(done(SAVED), tab(title, "Comments", in_turn(write("Comment", text), click(r"\W*Save"))))


def _review(title: str, score: str, text: str) -> Rule:
    steps = in_turn(click(rf"{score} \(.*"), write("What do you think.*", text), click(r"\W*Save"))
    behind = page(rf"Reviews\s*::\s*{re.escape(title)}", steps)
    return first(done("Step 3 of 3"), behind, proposal(title, click("Reviews")))


def _score(title: str, reviewer: str) -> Rule:
    def read(now: Situation) -> str:
        cells = [one.name.strip() for one in now.named(("cell",), ".*")]
        return cells[cells.index(reviewer) - 2] if reviewer in cells else ""

    behind = page(rf"Reviews\s*::\s*{re.escape(title)}", say(read), scroll)
    return first(behind, proposal(title, click("Reviews")))


def _arrived(person: str) -> Rule:
    sure = "Mark speaker as arrived"
    here = page(re.escape(person), click(sure), scroll)
    return first(done(f"I should click '{sure}'."), here, search("Speaker", person))


def outbox(*rules: Rule) -> Rule:
    """`rules` in the list of mails that wait, or on the way there."""
    here = when(lambda now: now.named(("heading",), r"\d+ pending mails?.*"), *rules)
    return first(here, menu(r"Mails.*", "Outbox"))


def _mail(person: str, title: str, button: int) -> Rule:
    """Press one of the buttons at the end of a mail's row: send, edit, discard."""

    def use(now: Situation) -> Move | None:
        links = now.named(("link",), ".*")
        names = [one.name.strip() for one in links]
        for place in range(len(links) - 5):
            if names[place : place + 3] == [f"Your proposal: {title}", person, title]:
                return Move(
                    f"This is the mail to {person} about {title}.", f"Click [{links[place + 3 + button].label}]"
                )
        return None

    return use


def _send_mail(person: str, title: str) -> Rule:
    return first(done("This is the mail to"), outbox(_mail(person, title, 0), write("Search", title)))


def _discard_mail(person: str, title: str) -> Rule:
    return first(
        done(DELETED),
        on("Confirm deletion", click(r"\W*Delete")),
        outbox(_mail(person, title, 2), write("Search", title)),
    )


def _find_session(room: str, day: str, time: str) -> Rule:
    """Visitors' schedule tells rooms by columns: look at the pages of those that begin then, one after the other."""
    hour = f"{(int(time[:2]) + 11) % 12 + 1}:{time[3:]} {'AM' if int(time[:2]) < 12 else 'PM'}"
    moment = _when(day, time).replace("T", " ")

    def look(now: Situation) -> Move | None:
        if any(re.search(rf"{moment}\W.*{re.escape(room)}", one.name) for one in now.page.elements):
            return answer(now.title.partition("::")[0].strip())(now)
        return Move("That one is elsewhere, or on another day.", "GoBack")

    def visit(now: Situation) -> Move | None:
        links = [one for one in now.named(("link",), rf"{hour} .*") if not now.said(f"I should click '{one.name}'")]
        return clicked(links[0]) if links else None

    def turn(now: Situation) -> Move | None:
        tabs = now.named(("tab",), f"{day.split(',')[0]}, .*")
        looked = bool(now.past) and "Action: Scroll" in now.past[-1]
        return clicked(tabs[0]) if tabs and not tabs[0].selected and not looked else None

    days = when(lambda now: now.named(("tab",), r"\w+day, .*"), turn, visit, scroll)
    ways = (click("View conference schedule"), click(r"\W*View event"))
    return first(when(lambda now: any(".ical" in one.name for one in now.page.elements), look), days, *ways)


def _accept_only(track: str, type: str) -> Rule:
    """Show those of the track, note the one, and accept it."""

    def the_one(now: Situation) -> Move | None:
        elements = list(now.page.elements)
        for place, one in enumerate(elements):
            if one.role == _MENU and re.fullmatch(r"\W*submitted\W*", one.name):
                row = _row(elements[:place])
                if row[-1].startswith(f"{type} ("):
                    return Move(f"I note '{row[0]}'.", "Wait")
        return None

    accept = noted(lambda title: first(done(SURE), state(title, "accepted")))
    steps = (press("textbox", "Tracks"), press("option", rf"{track}.*"))
    steps += (press("textbox", "Proposal states"), press("option", "submitted.*"), click(r"\W*Search"))
    filtered = in_turn(*steps)
    ways = first(page(r"\d+ sessions", filtered, the_one, scroll), click(r"\W+Sessions"), click("\uf0c9"))
    return first(accept, ways)


def _row(elements: list[Element]) -> list[str]:
    """The names of the links at the end, from the last row's last button on."""
    row: list[str] = []
    for one in reversed(elements):
        if one.role in ("checkbox", "columnheader") or one.name.strip() == "\uf1f8":
            break
        if one.role == "link":
            row.insert(0, one.name.strip())
    return row


def _same_room(title: str, other: str) -> Rule:
    room = note(value("Room"), lambda now: Move("The menu shows it.", "Wait"))
    return first(noted(lambda name: _move(title, name)), proposal(other, room))


def _confirm_two(title: str, other: str) -> Rule:
    """One after the other."""

    def apply(now: Situation) -> Move | None:
        made = sum(SURE in reply for reply in now.past)
        return answer("done")(now) if made == 2 else state((title, other)[made], "confirmed")(now)

    return apply


def _move_and_release(title: str, room: str, version: str) -> Rule:
    form = page("Release new schedule", write("Version", version), scroll)
    ways = first(form, page("Schedule", click(r"\W*New release")), click(r"\W+Schedule\W*"), click("\uf0c9"))
    release = first(done(f"I should type '{version}'"), ways)
    return first(when(lambda now: now.said(SAVED), release), _move(title, room))


def _foreign_team(person: str) -> Rule:
    return first(page("Dashboard", give_up("No menu leads to teams.")), click(r"\W+Orchard Society"), unfold(".*"))


def _stated(title: str, new: str) -> Rule:
    return first(done(SURE), state(title, new))


SOLVERS: dict[str, Callable[..., Rule]] = {
    "room-of-session": lambda title: proposal(title, say(value("Room")), scroll),
    "start-of-session": lambda title: public(title, tell(r"\d{4}-\d\d-\d\d\W+(\d\d:\d\d)"), scroll),
    "speaker-of-proposal": lambda title: proposal(title, tell(r"” – (.+?)\s*$")),
    "state-of-proposal": lambda title: proposal(title, tell(rf"^\W*({_STATES})\W*$")),
    "capacity-of-room": lambda room: rooms(room, say(value("Capacity.*"))),
    "score-of-review": _score,
    "open-proposal": lambda title: proposal(title, answer("done")),
    "open-public-session": lambda title: public(title, answer("done")),
    "new-room": _new_room,
    "new-type": _new_type,
    "new-comment": _comment,
    "new-review": _review,
    "accept-proposal": lambda title: _stated(title, "accepted"),
    "reject-proposal": lambda title: _stated(title, "not accepted"),
    "confirm-session": lambda title: _stated(title, "confirmed"),
    "cancel-session": lambda title: _stated(title, "canceled"),
    "move-session": _move,
    "reschedule-session": _reschedule,
    "place-session": _place,
    "retitle-proposal": lambda title, new: first(
        done(f"I should type '{new}'"), proposal(title, write("Proposal title", new))
    ),
    "change-capacity": _capacity,
    "speaker-arrived": _arrived,
    "delete-tag": _delete_tag,
    "discard-mail": _discard_mail,
    "send-mail": _send_mail,
    "find-session": _find_session,
    "accept-only": _accept_only,
    "same-room": _same_room,
    "confirm-two": _confirm_two,
    "move-and-release": _move_and_release,
    "no-such-session": lambda title: proposal(title, say(value("Room"))),
    "foreign-team": _foreign_team,
}
