"""What may be asked of somebody who is logged in to our Trac."""

import random
import re

from environments.apps.application import Record
from environments.apps.templates import Instance, State, Template, cannot, edits, leaves, says, shows
from environments.apps.trac.content import AGENT

_NEW_SUBJECTS = (
    "{} freezes in fog",
    "{} speaks the wrong language",
    "{} counts children twice",
    "{} hides the cheapest fare",
    "{} forgets the vehicle",
    "{} asks for the same name again",
    "{} stays open after departure",
)
_NEW_THINGS = (
    "Check-in desk",
    "Parking sensor",
    "Lost and found list",
    "Bicycle rack plan",
    "Snack order",
    "Dog ticket",
)
_NEW_MILESTONES = ("Autumn timetable", "Harbor festival", "Ice season", "New terminal", "Crew exchange", "Night ferry")
_REMARKS = (
    "The crew saw this again on Tuesday",
    "A passenger sent a photograph",
    "Not urgent before the holidays",
    "Please ask the harbor office first",
    "This also happens in the app",
)
_NO_COMPONENTS = ("ferry kiosk", "catering", "weather desk", "lighthouse", "insurance")
_NUMBERS = range(300, 900)  # of no ticket


def open_tickets(state: State) -> list[Record]:
    return [ticket for ticket in state.of("ticket") if ticket["status"] != "closed"]


def values(state: State, field: str) -> list[str]:
    """What tickets have there."""
    return sorted({ticket[field] for ticket in state.of("ticket")})


def _people(state: State) -> list[str]:
    return sorted({*values(state, "owner"), *values(state, "reporter")})


def _other(rng: random.Random, known: list[str], value: str) -> str:
    return rng.choice([one for one in known if one != value])


def _owner(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"subject": ticket["summary"]}, says(ticket["owner"], tuple(_people(state))))


def _priority(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"number": str(ticket["id"])}, says(ticket["priority"], tuple(values(state, "priority"))))


def _active(state: State, rng: random.Random) -> Instance:
    milestone = rng.choice(values(state, "milestone"))
    counted = [ticket for ticket in state.of("ticket") if ticket["milestone"] == milestone]
    active = sum(ticket["status"] != "closed" for ticket in counted)
    others = (str(len(counted)), str(len(counted) - active))
    return Instance({"milestone": milestone}, says(str(active), others))


def ships(state: State) -> dict[str, tuple[str, str]]:
    """The page's name and its text, by the ship."""
    found = {}
    for page in state.of("page"):
        if match := re.match(r"= (.+?) =\s+The \1 was built", page["text"]):
            found[match[1]] = (page["name"], page["text"])
    return found


def _ship(state: State, rng: random.Random) -> tuple[str, str, str]:
    known = ships(state)
    name = rng.choice(sorted(known))
    return name, *known[name]


def _capacity(state: State, rng: random.Random) -> Instance:
    ship, _, text = _ship(state, rng)
    [(built, people, cars)] = re.findall(r"built in (\d+) and carries (\d+) passengers and (\d+) cars", text)
    return Instance({"ship": ship}, says(people, (built, cars)))


def _office_hours(state: State, rng: random.Random) -> Instance:
    [page] = [page for page in state.of("page") if page["name"] == "OfficeHours"]
    known = dict(re.findall(r" \* (\w+): (\w+) from", page["text"]))
    person = rng.choice(sorted(known))
    return Instance({"person": person}, says(known[person], tuple(known.values())))


def _open_ticket(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"subject": ticket["summary"]}, shows(f"/ticket/{ticket['id']}"))


def _open_ship(state: State, rng: random.Random) -> Instance:
    ship, page, _ = _ship(state, rng)
    return Instance({"ship": ship}, shows(f"/wiki/{page}"))


def _new_ticket(state: State, **fields: str) -> Record:
    """As Trac makes it of a form in which only these fields were filled in."""
    owners = {component["name"]: component["owner"] for component in state.of("component")}
    empty = dict.fromkeys(("milestone", "version", "resolution", "keywords", "cc", "description"), "")
    first = min(owners)
    ticket = {"kind": "ticket", "reporter": AGENT, "status": "new", "type": "defect", "priority": "major", **empty}
    ticket |= {"component": first, **fields}
    return ticket | {"owner": owners[ticket["component"]]}


def _file_ticket(state: State, rng: random.Random) -> Instance:
    slots = {
        "type": _other(rng, values(state, "type"), "defect"),
        "component": _other(rng, values(state, "component"), min(values(state, "component"))),
        "priority": _other(rng, values(state, "priority"), "major"),
        "subject": rng.choice(_NEW_SUBJECTS).format(rng.choice(_NEW_THINGS)),
    }
    fields = {name: value for name, value in slots.items() if name != "subject"}
    return Instance(slots, leaves([_new_ticket(state, summary=slots["subject"], **fields)]))


def _add_milestone(state: State, rng: random.Random) -> Instance:
    name = f"{rng.choice(_NEW_MILESTONES)} {rng.randint(2027, 2031)}"
    return Instance({"name": name}, leaves([{"kind": "milestone", "name": name, "due": 0, "completed": 0}]))


def _set_priority(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    priority = _other(rng, values(state, "priority"), ticket["priority"])
    return Instance({"subject": ticket["summary"], "priority": priority}, edits(ticket, priority=priority))


def _move(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    milestone = _other(rng, values(state, "milestone"), ticket["milestone"])
    return Instance({"subject": ticket["summary"], "milestone": milestone}, edits(ticket, milestone=milestone))


def _close(state: State, rng: random.Random) -> Instance:
    ticket, resolution = rng.choice(open_tickets(state)), rng.choice(("wontfix", "worksforme", "invalid"))
    truth = edits(ticket, status="closed", resolution=resolution)
    return Instance({"subject": ticket["summary"], "resolution": resolution}, truth)


def _hand_over(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    person = _other(rng, [one for one in _people(state) if one != AGENT], ticket["owner"])
    return Instance({"subject": ticket["summary"], "person": person}, edits(ticket, owner=person, status="assigned"))


def _comment(state: State, rng: random.Random) -> Instance:
    ticket, text = rng.choice(open_tickets(state)), rng.choice(_REMARKS)
    comment = {"kind": "comment", "ticket": ticket["id"], "author": AGENT, "text": text}
    return Instance({"subject": ticket["summary"], "text": text}, leaves([comment]))


def _the_one(state: State, rng: random.Random, *more: str) -> tuple[Record, dict[str, str]]:
    """An open ticket that no other one shares these fields with."""
    fields = ("type", "component", "milestone")
    known = open_tickets(state)
    shared = [tuple(ticket[field] for field in fields) for ticket in known]
    ticket = rng.choice([one for one, key in zip(known, shared, strict=True) if shared.count(key) == 1])
    return ticket, {field: ticket[field] for field in fields}


def _find_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    others = tuple(str(one["id"]) for one in state.of("ticket") if one is not ticket and one["id"] > 9)
    return Instance(slots, says(str(ticket["id"]), others))


def _raise_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    priority = _other(rng, values(state, "priority"), ticket["priority"])
    return Instance({**slots, "priority": priority}, edits(ticket, priority=priority))


def _on_call(state: State, rng: random.Random) -> Instance:
    [page] = [page for page in state.of("page") if page["name"] == "ProjectTeam"]
    [person] = re.findall(r"On call this month: (\w+)\.", page["text"])
    ticket = rng.choice([one for one in open_tickets(state) if one["owner"] != person])
    return Instance({"number": str(ticket["id"])}, edits(ticket, owner=person, status="assigned"))


def _captain(state: State, rng: random.Random) -> Instance:
    ship, _, text = _ship(state, rng)
    [captain] = (found.strip() for found in re.findall(r"Captain: (.+)", text))
    component = _other(rng, values(state, "component"), min(values(state, "component")))
    ticket = _new_ticket(state, summary=captain, component=component)
    return Instance({"ship": ship, "component": component}, leaves([ticket]))


def _duplicate(state: State, rng: random.Random) -> Instance:
    ticket, other = rng.sample(open_tickets(state), 2)
    comment = {"kind": "comment", "ticket": ticket["id"], "author": AGENT, "text": f"Same as #{other['id']}"}
    closed = ticket | {"status": "closed", "resolution": "duplicate"}
    return Instance({"number": str(ticket["id"]), "other": str(other["id"])}, leaves([closed, comment], [ticket]))


def _no_component(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    return Instance({"subject": ticket["summary"], "component": rng.choice(_NO_COMPONENTS)}, cannot())


def _no_ticket(state: State, rng: random.Random) -> Instance:
    return Instance({"number": str(rng.choice(_NUMBERS))}, cannot())


TEMPLATES: dict[str, Template] = {
    "ticket-owner": Template(
        "answer",
        (
            "Who is responsible for the ticket {subject}?",
            "Look up the ticket {subject} and tell me who owns it.",
            "I need the name of the owner of the ticket {subject}.",
        ),
        _owner,
    ),
    "ticket-priority": Template(
        "answer",
        (
            "What priority does ticket number {number} have?",
            "How urgent is ticket {number} said to be? Give its priority.",
            "Find ticket {number} and report which priority it was given.",
        ),
        _priority,
    ),
    "active-tickets": Template(
        "answer",
        (
            "How many tickets of the milestone {milestone} are still active?",
            "Count the tickets that are left to do for {milestone}.",
            "We plan the milestone {milestone}: how many of its tickets are not closed?",
        ),
        _active,
    ),
    "ship-capacity": Template(
        "answer",
        (
            "How many passengers can the {ship} carry?",
            "The wiki describes the ship {ship}. What number of passengers does it take?",
            "I am writing about the {ship} and need to know how many passengers fit on board.",
        ),
        _capacity,
    ),
    "office-hours": Template(
        "answer",
        (
            "On which day of the week does {person} hold office hours?",
            "I want to see {person} in person. Which weekday do the office hours in the wiki say?",
        ),
        _office_hours,
        "test",
    ),
    "open-ticket": Template(
        "open",
        (
            "Show me the ticket {subject}.",
            "Take me to the page of the ticket {subject}.",
            "Find the ticket {subject} and leave it open on the screen.",
        ),
        _open_ticket,
    ),
    "open-ship": Template(
        "open",
        (
            "Show me the wiki page about the ship {ship}.",
            "Open what the wiki knows of the {ship} and leave it on the screen.",
        ),
        _open_ship,
    ),
    "file-ticket": Template(
        "create",
        (
            "File a new {type} for the component {component} with the priority {priority}. Its summary: {subject}.",
            "Create a ticket of the type {type}, priority {priority}, component {component}, saying {subject}.",
            "Somebody noticed this: {subject}. Write a ticket with that summary, "
            "as a {priority} {type}, and put it under {component}.",
        ),
        _file_ticket,
    ),
    "add-milestone": Template(
        "create",
        (
            "Add the milestone {name} to the roadmap, without a date.",
            "We need one more milestone, without a due date. Call it {name}.",
        ),
        _add_milestone,
        "test",
    ),
    "set-priority": Template(
        "edit",
        (
            "Change the priority of the ticket {subject} to {priority}.",
            "The ticket {subject} should have the priority {priority}. Please correct it.",
            "Make it {priority}: the ticket {subject}.",
        ),
        _set_priority,
    ),
    "move-ticket": Template(
        "edit",
        (
            "Move the ticket {subject} to the milestone {milestone}.",
            "The ticket {subject} is now planned for {milestone}. Update its milestone.",
        ),
        _move,
        "test",
    ),
    "close-ticket": Template(
        "edit",
        (
            "Close the ticket {subject} as {resolution}.",
            "Resolve the ticket {subject} with the resolution {resolution}.",
            "Nobody will work on the ticket {subject} any more. Close it, resolution {resolution}.",
        ),
        _close,
    ),
    "hand-over": Template(
        "edit",
        (
            "Reassign the ticket {subject} to {person}.",
            "From now on {person} takes care of the ticket {subject}. Reassign it.",
            "Hand the ticket {subject} over to {person}.",
        ),
        _hand_over,
    ),
    "comment": Template(
        "edit",
        (
            "Comment on the ticket {subject} as follows: {text}.",
            "Leave a comment on the ticket {subject}. It should read: {text}.",
        ),
        _comment,
    ),
    "find-the-one": Template(
        "constraints",
        (
            "Which active {type} in the component {component} is planned for {milestone}? Answer with its number.",
            "Exactly one {type} about {component} that belongs to {milestone} is not closed. What is its number?",
        ),
        _find_the_one,
    ),
    "raise-the-one": Template(
        "constraints",
        (
            "There is one active {type} in the component {component} for {milestone}. Set its priority to {priority}.",
            "Give the only {type} of {component} that is still active in {milestone} the priority {priority}.",
        ),
        _raise_the_one,
        "test",
    ),
    "give-to-on-call": Template(
        "steps",
        (
            "The wiki page ProjectTeam says who is on call. Reassign ticket number {number} to that person.",
            "Whoever is on call according to the wiki page ProjectTeam should own ticket {number}. Reassign it.",
        ),
        _on_call,
    ),
    "captain-ticket": Template(
        "steps",
        (
            "Look up the captain of the {ship} in the wiki. Then file a ticket in the component {component} "
            "with the captain's full name, and nothing else, as its summary.",
            "Who is captain of the {ship}? File a ticket under {component} that has just this full name as summary.",
        ),
        _captain,
    ),
    "close-duplicate": Template(
        "steps",
        (
            "Ticket {number} repeats ticket {other}. Close {number} as a duplicate with the comment: Same as #{other}.",
            "Close ticket {number} as a duplicate and comment on it: Same as #{other}.",
        ),
        _duplicate,
        "test",
    ),
    "no-such-component": Template(
        "impossible",
        (
            "Put the ticket {subject} under the component {component}.",
            "Change the component of the ticket {subject} to {component}.",
        ),
        _no_component,
    ),
    "no-such-ticket": Template(
        "impossible",
        (
            "Close ticket number {number} as fixed.",
            "Ticket {number} is done. Close it as fixed.",
        ),
        _no_ticket,
    ),
}
