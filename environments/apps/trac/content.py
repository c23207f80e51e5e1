"""What our Trac holds beside its own pages: a project of a made-up ferry company, drawn from a seed."""

import dataclasses
import random
from typing import Any

AGENT = "ana"
PEOPLE = ("ana", "bo", "chen", "dora", "emil", "farah")
COMPONENTS = ("booking", "boarding", "payments", "timetable", "mobile app", "staff portal", "notifications", "reports")
MILESTONES = ("Spring launch", "Summer schedule", "Winter schedule", "Fleet renewal", "Archive")
VERSIONS = ("3.0", "3.1", "3.2")
PRIORITIES = ("blocker", "critical", "major", "minor", "trivial")
TYPES = ("defect", "enhancement", "task")
RESOLUTIONS = ("fixed", "wontfix", "duplicate", "worksforme")
NUM_TICKETS = 160

_THINGS = {
    "booking": ("seat map", "group booking form", "return ticket", "vehicle length field", "passenger list"),
    "boarding": ("boarding pass", "gate scanner", "queue display", "late arrival notice", "cabin key"),
    "payments": ("refund receipt", "voucher code", "card form", "invoice address", "currency switch"),
    "timetable": ("harbor page", "departure board", "holiday calendar", "connection search", "tide warning"),
    "mobile app": ("login screen", "offline ticket", "push message", "map view", "language menu"),
    "staff portal": ("shift plan", "crew list", "training record", "absence form", "cargo manifest"),
    "notifications": ("reminder mail", "delay message", "newsletter footer", "text message", "survey link"),
    "reports": ("monthly revenue sheet", "occupancy chart", "fuel report", "complaint summary", "punctuality table"),
}
_FAULTS = (
    "{} is empty after midnight",
    "{} shows the wrong harbor",
    "{} cannot be printed",
    "{} loads for half a minute",
    "{} loses its last line",
    "{} repeats the first name",
    "{} ignores the time zone",
    "{} is cut off on small screens",
)
_WISHES = (
    "{} should remember the last choice",
    "{} needs a search box",
    "{} in large print",
    "{} as a download",
    "{} with fewer steps",
)
_CHORES = ("translate the {}", "write a guide to the {}", "review the {} with the crew", "archive the old {}")
_KEYWORDS = ("accessibility", "performance", "printing", "translation", "security", "wording")
_SHIPS = ("Kittiwake", "Northern Gannet", "Sandpiper", "Old Fulmar", "Petrel")
_ROOMS = ("the Compass Room", "the Chart Room", "the Galley", "the Lamp Room")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclasses.dataclass(frozen=True)
class Content:
    """Tickets in the order of their numbers, from 1; pages by name; milestones with their descriptions."""

    tickets: list[dict[str, Any]]
    pages: dict[str, str]
    milestones: dict[str, str]
    components: dict[str, str]


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"trac {seed}")
    owners: dict[str, str] = dict(zip(COMPONENTS, rng.choices(PEOPLE[1:], k=len(COMPONENTS)), strict=True))
    return Content(_tickets(rng, owners), _pages(rng, owners), _milestones(), owners)


def _tickets(rng: random.Random, owners: dict[str, str]) -> list[dict[str, Any]]:
    subjects = [
        (kind, component, form.format(thing))
        for component, things in _THINGS.items()
        for thing in things
        for kind, forms in zip(TYPES, (_FAULTS, _WISHES, _CHORES), strict=True)
        for form in forms
    ]
    tickets = []
    for number, (kind, component, subject) in enumerate(rng.sample(subjects, NUM_TICKETS), start=1):
        is_closed = rng.random() < 0.3
        ticket = {
            "summary": subject[0].upper() + subject[1:],
            "type": kind,
            "component": component,
            "priority": rng.choices(PRIORITIES, (1, 3, 6, 4, 2))[0],
            "milestone": rng.choice(MILESTONES[:-1]),
            "version": rng.choice(VERSIONS),
            "owner": owners[component] if rng.random() < 0.7 else rng.choice(PEOPLE),
            "reporter": rng.choice(PEOPLE),
            "status": "closed" if is_closed else rng.choice(("new", "accepted")),
            "resolution": rng.choice(RESOLUTIONS) if is_closed else "",
            "keywords": rng.choice(_KEYWORDS) if rng.random() < 0.5 else "",
            "cc": "",
            "description": f"Seen on the {rng.choice(_SHIPS)} by {rng.randint(2, 40)} passengers.",
            "day": number,
        }
        tickets.append(ticket)
    return tickets


def _pages(rng: random.Random, owners: dict[str, str]) -> dict[str, str]:
    team = "".join(f" * {component}: {owner}\n" for component, owner in owners.items())
    hours = "".join(
        f" * {name}: {rng.choice(_DAYS)} from {rng.randint(8, 12)} o'clock in {rng.choice(_ROOMS)}\n" for name in PEOPLE
    )
    plan = "".join(f" * {name} ships version {version}.\n" for name, version in zip(MILESTONES, VERSIONS, strict=False))
    on_call = f"On call this month: {rng.choice(PEOPLE[1:])}."
    pages = {
        "ProjectTeam": f"= Project team =\n\nWho looks after what:\n\n{team}\n{on_call}\n",
        "OfficeHours": f"= Office hours =\n\n{hours}",
        "ReleasePlan": f"= Release plan =\n\n{plan}",
    }
    for ship in _SHIPS:
        name = "Ship" + "".join(ship.split())
        pages[name] = (
            f"= {ship} =\n\nThe {ship} was built in {rng.randint(1968, 2019)} and carries {rng.randint(12, 90) * 10} "
            f"passengers and {rng.randint(10, 80)} cars.\n\nCaptain: {rng.choice(PEOPLE).capitalize()} "
            f"{rng.choice(('Lund', 'Okafor', 'Reyes', 'Sato', 'Weiss'))}\n\nHome harbor: "
            f"{rng.choice(('Aldvik', 'Borrum', 'Carnsey', 'Dunmore'))}\n"
        )
    return pages


def _milestones() -> dict[str, str]:
    return {name: f"Everything that belongs to {name}." for name in MILESTONES}
