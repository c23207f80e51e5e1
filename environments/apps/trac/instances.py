"""An instance of each kind of task in our Trac, drawn with its ground truth; `tasks.py` has the words."""

import random
import re

from environments.apps.application import Record
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows
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


def owner(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"subject": ticket["summary"]}, says(ticket["owner"], tuple(_people(state))))


def priority(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"number": str(ticket["id"])}, says(ticket["priority"], tuple(values(state, "priority"))))


def _field(state: State, rng: random.Random, field: str) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"subject": ticket["summary"]}, says(ticket[field], tuple(values(state, field))))


def component(state: State, rng: random.Random) -> Instance:
    return _field(state, rng, "component")


def version(state: State, rng: random.Random) -> Instance:
    return _field(state, rng, "version")


def milestone(state: State, rng: random.Random) -> Instance:
    return _field(state, rng, "milestone")


def active(state: State, rng: random.Random) -> Instance:
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


def capacity(state: State, rng: random.Random) -> Instance:
    ship, _, text = _ship(state, rng)
    [(built, people, cars)] = re.findall(r"built in (\d+) and carries (\d+) passengers and (\d+) cars", text)
    return Instance({"ship": ship}, says(people, (built, cars)))


def office_hours(state: State, rng: random.Random) -> Instance:
    [page] = [page for page in state.of("page") if page["name"] == "OfficeHours"]
    known = dict(re.findall(r" \* (\w+): (\w+) from", page["text"]))
    person = rng.choice(sorted(known))
    return Instance({"person": person}, says(known[person], tuple(known.values())))


def open_ticket(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(state.of("ticket"))
    return Instance({"subject": ticket["summary"]}, shows(f"/ticket/{ticket['id']}"))


def open_ship(state: State, rng: random.Random) -> Instance:
    ship, page, _ = _ship(state, rng)
    return Instance({"ship": ship}, shows(f"/wiki/{page}"))


def open_page(state: State, rng: random.Random) -> Instance:
    """One of the handbook that Trac itself brings."""
    names = [page["name"] for page in state.of("page") if page["author"] == "trac" and page["name"] != "WikiStart"]
    name = rng.choice(sorted(names))
    return Instance({"page": name}, shows(f"/wiki/{name}"))


def _new_ticket(state: State, **fields: str) -> Record:
    """As Trac makes it of a form in which only these fields were filled in."""
    owners = {component["name"]: component["owner"] for component in state.of("component")}
    empty = dict.fromkeys(("milestone", "version", "resolution", "keywords", "cc", "description"), "")
    first = min(owners)
    ticket = {"kind": "ticket", "reporter": AGENT, "status": "new", "type": "defect", "priority": "major", **empty}
    ticket |= {"component": first, **fields}
    return ticket | {"owner": owners[ticket["component"]]}


def file_ticket(state: State, rng: random.Random) -> Instance:
    slots = {
        "type": _other(rng, values(state, "type"), "defect"),
        "component": _other(rng, values(state, "component"), min(values(state, "component"))),
        "priority": _other(rng, values(state, "priority"), "major"),
        "subject": rng.choice(_NEW_SUBJECTS).format(rng.choice(_NEW_THINGS)),
    }
    fields = {name: value for name, value in slots.items() if name != "subject"}
    return Instance(slots, leaves([_new_ticket(state, summary=slots["subject"], **fields)]))


def add_milestone(state: State, rng: random.Random) -> Instance:
    name = f"{rng.choice(_NEW_MILESTONES)} {rng.randint(2027, 2031)}"
    return Instance({"name": name}, leaves([{"kind": "milestone", "name": name, "due": 0, "completed": 0}]))


def set_priority(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    priority = _other(rng, values(state, "priority"), ticket["priority"])
    return Instance({"subject": ticket["summary"], "priority": priority}, edits(ticket, priority=priority))


def move(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    milestone = _other(rng, values(state, "milestone"), ticket["milestone"])
    return Instance({"subject": ticket["summary"], "milestone": milestone}, edits(ticket, milestone=milestone))


def close(state: State, rng: random.Random) -> Instance:
    ticket, resolution = rng.choice(open_tickets(state)), rng.choice(("wontfix", "worksforme", "invalid"))
    truth = edits(ticket, status="closed", resolution=resolution)
    return Instance({"subject": ticket["summary"], "resolution": resolution}, truth)


def hand_over(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    person = _other(rng, [one for one in _people(state) if one != AGENT], ticket["owner"])
    return Instance({"subject": ticket["summary"], "person": person}, edits(ticket, owner=person, status="assigned"))


def comment(state: State, rng: random.Random) -> Instance:
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


def find_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    others = tuple(str(one["id"]) for one in state.of("ticket") if one is not ticket and one["id"] > 9)
    return Instance(slots, says(str(ticket["id"]), others))


def raise_the_one(state: State, rng: random.Random) -> Instance:
    ticket, slots = _the_one(state, rng)
    priority = _other(rng, values(state, "priority"), ticket["priority"])
    return Instance({**slots, "priority": priority}, edits(ticket, priority=priority))


def on_call(state: State, rng: random.Random) -> Instance:
    [page] = [page for page in state.of("page") if page["name"] == "ProjectTeam"]
    [person] = re.findall(r"On call this month: (\w+)\.", page["text"])
    ticket = rng.choice([one for one in open_tickets(state) if one["owner"] != person])
    return Instance({"number": str(ticket["id"])}, edits(ticket, owner=person, status="assigned"))


def captain(state: State, rng: random.Random) -> Instance:
    ship, _, text = _ship(state, rng)
    [captain] = (found.strip() for found in re.findall(r"Captain: (.+)", text))
    component = _other(rng, values(state, "component"), min(values(state, "component")))
    ticket = _new_ticket(state, summary=captain, component=component)
    return Instance({"ship": ship, "component": component}, leaves([ticket]))


def duplicate(state: State, rng: random.Random) -> Instance:
    ticket, other = rng.sample(open_tickets(state), 2)
    comment = {"kind": "comment", "ticket": ticket["id"], "author": AGENT, "text": f"Same as #{other['id']}"}
    closed = ticket | {"status": "closed", "resolution": "duplicate"}
    return Instance({"number": str(ticket["id"]), "other": str(other["id"])}, leaves([closed, comment], [ticket]))


def no_component(state: State, rng: random.Random) -> Instance:
    ticket = rng.choice(open_tickets(state))
    return Instance({"subject": ticket["summary"], "component": rng.choice(_NO_COMPONENTS)}, cannot())


def no_ticket(state: State, rng: random.Random) -> Instance:
    return Instance({"number": str(rng.choice(_NUMBERS))}, cannot())
