"""What our Fossil holds: a small made-up program that prints tide tables, with its tickets and wiki, from a seed."""

import dataclasses
import random

AGENT = "ana"
ADMINISTRATOR = "keeper"  # of the repository; nobody logs in as this one
PEOPLE = ("ana", "bruno", "celia", "dario", "edda")
NAME = "Tide Tables"
TYPES = ("Code_Defect", "Build_Problem", "Documentation", "Feature_Request", "Incident")
STATUSES = ("Open", "Verified", "Review", "Deferred", "Closed")
SEVERITIES = ("Critical", "Severe", "Important", "Minor", "Cosmetic")
PRIORITIES = ("Immediate", "High", "Medium", "Low", "Zero")
RESOLUTIONS = ("Fixed", "Rejected", "Workaround", "Not_A_Bug", "Duplicate")
RELEASES = ("1.0", "1.1", "1.2", "1.3", "2.0")
NUM_TICKETS = 36
HARBORS = ("Aldvik", "Borrum", "Carnsey", "Dunmore", "Ekholm", "Farsund")

_THINGS = (
    *("Moon phase", "Harbor list", "Spring tide alarm", "Printed table", "Time zone menu", "Depth chart"),
    *("Calendar export", "Current arrow", "Storm warning", "Night mode", "Station map", "Unit switch"),
)
_FAULTS = (
    "{} is an hour late",
    "{} forgets the leap day",
    "{} cannot be read on paper",
    "{} takes a minute to open",
    "{} lacks an explanation",
    "{} shows feet for meters",
)
_CHANGES = (
    "Round heights to the next decimeter",
    "Read harbors from a file of their own",
    "Warn before spring tides",
    "Print two weeks on a page",
    "Correct the depth of the outer harbor",
    "Rename the command to tides",
    "Add the station at the pier",
    "Sort harbors by their names",
)


@dataclasses.dataclass(frozen=True)
class Change:
    """A check-in: who, what for, the files as they are from then on, and the release that it is."""

    user: str
    comment: str
    files: dict[str, str]
    release: str


@dataclasses.dataclass(frozen=True)
class Content:
    """Tickets by their number from 1, wiki pages by name with their authors, and check-ins from the oldest on."""

    tickets: list[dict[str, str]]
    pages: dict[str, tuple[str, str]]
    changes: list[Change]


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"fossil {seed}")
    titles = rng.sample([fault.format(thing) for thing in _THINGS for fault in _FAULTS], NUM_TICKETS)
    return Content([_ticket(rng, title) for title in titles], _pages(rng), _changes(rng))


def _ticket(rng: random.Random, title: str) -> dict[str, str]:
    status = rng.choice(STATUSES)
    return {
        "title": title,
        "type": rng.choice(TYPES),
        "status": status,
        "severity": rng.choice(SEVERITIES),
        "priority": rng.choice(PRIORITIES),
        "resolution": rng.choice(RESOLUTIONS) if status == "Closed" else "Open",
        "foundin": rng.choice(RELEASES),
        "comment": f"Seen at {rng.choice(HARBORS)} by {rng.choice(PEOPLE)}.",
        "user": rng.choice(PEOPLE),
    }


def _pages(rng: random.Random) -> dict[str, tuple[str, str]]:
    pages = {
        f"Harbor {name}": (
            rng.choice(PEOPLE),
            f"The gauge of {name} stands at pier {rng.randint(2, 40)} and was built in {rng.randint(1921, 1999)}.\n\n"
            f"Highest tide so far: {rng.randint(310, 690)} centimeters.\n\n"
            f"Keeper of the gauge: {rng.choice(PEOPLE)}\n",
        )
        for name in HARBORS
    }
    reviewers = "".join(f"  *  {kind}: {rng.choice(PEOPLE)}\n" for kind in TYPES)
    pages["Who Reviews What"] = ("bruno", f"Tickets are reviewed by their type.\n\n{reviewers}")
    pages["Next Meeting"] = (
        "celia",
        f"We meet in {rng.choice(HARBORS)}. The minutes are taken by {rng.choice(PEOPLE)}.\n",
    )
    return pages


def _changes(rng: random.Random) -> list[Change]:
    changes: list[Change] = []
    files = {"README.md": f"# {NAME}\n\nPrints when the water is high.\n"}
    for number, comment in enumerate(rng.sample(_CHANGES, len(_CHANGES))):
        heights = "".join(f"{name} = {rng.randint(120, 480)}\n" for name in HARBORS)
        files = {**files, "harbors.ini": f"# centimeters above the mark\n{heights}"}
        files = {**files, "settings.ini": f"weeks = {rng.randint(1, 8)}\npaper = {rng.choice(('A3', 'A4', 'A5'))}\n"}
        release = RELEASES[number // 2] if number % 2 else ""
        changes.append(Change(rng.choice(PEOPLE), comment, dict(files), release))
    return changes
