"""What our website holds: a made-up town, its sections, articles and events, drawn from a seed."""

import dataclasses
import random
from typing import Any

AGENT, HOME = "ana", "Town of Harnsey"
SECTIONS = {
    "News": ("Town hall", "Schools", "Sport"),
    "Services": ("Waste and water", "Families", "Streets"),
    "Events": ("Market hall", "Library", "Lakeside"),
    "Council": ("Minutes", "Budget"),
}
OPEN, FOREIGN = ("News", "Services", "Events"), "Council"
"""Where the agent may change everything, and where only what it wrote itself."""
_TITLES = {
    "Town hall": ("New hours at the {}", "Repairs to the {}", "A new key for the {}"),
    "Schools": ("Pupils paint the {}", "A lesson at the {}", "Choir concert near the {}"),
    "Sport": ("A run around the {}", "Skating behind the {}", "Chess under the {}"),
    "Waste and water": ("Bins near the {}", "Water pipes below the {}", "Paper collection at the {}"),
    "Families": ("Playground beside the {}", "Babysitting at the {}", "A nursery near the {}"),
    "Streets": ("Parking at the {}", "Street lamps along the {}", "Snow on the way to the {}"),
    "Market hall": ("Fair of {}", "Auction of {}", "Exchange of {}"),
    "Library": ("An evening about {}", "Reading about {}", "Quiz about {}"),
    "Lakeside": ("Picnic with {}", "Parade of {}", "Raffle of {}"),
    "Minutes": ("Debate on the {}", "Vote on the {}", "Question about the {}"),
    "Budget": ("Costs of the {}", "Savings at the {}", "Loan for the {}"),
}
SIGHTS = ("archive", "clock tower", "ferry pier", "north gate", "old mill", "rose garden", "tram stop", "west bridge")
THINGS = ("bicycles", "cider", "kites", "lanterns", "pumpkins", "puppets", "quilts", "violins")
PER_SECTION = 6
_SUMMARIES = (
    "What changes until the summer, and whom to ask.",
    "It took longer than planned, and now it is done.",
    "The town pays half, and neighbors do the rest.",
    "Everybody is welcome to help on Saturday.",
    "Read this before you come by.",
)
NEW_SUMMARIES = ("The work begins later than planned.", "Nobody needs to register.", "It costs nothing this year.")
_BODIES = (
    "We thank all who wrote to us. More will be said at the next meeting.",
    "The office is open on weekdays until noon.",
    "Please use the side entrance.",
)
PLACES = ("Boathouse", "Cellar", "Great hall", "Pavilion", "Reading room", "Upper terrace")
_NAMES = (
    *("Ines Moreau", "Pavel Duda", "Greta Lind", "Omar Haddad", "Rosa Bianchi", "Tom Ashby", "Yuki Mori"),
    *("Lena Vogt", "Ivo Kral"),
)
_OFFICES = ("Press office", "Registry", "Building yard", "Youth office", "Waterworks")
CATEGORIES = {
    "Building": "What is put up, repaired or torn down",
    "Children": "For everybody under fourteen",
    "Culture": "Music, books and pictures",
    "Nature": "Parks, the lake and the woods",
    "Traffic": "On wheels and on foot",
}
_MOVED = ("bins", "fair", "jobs", "lost-and-found", "map", "mayor", "passports")


@dataclasses.dataclass(frozen=True)
class Content:
    """Pages in the order of their numbers, each below an earlier one or below the start page, "".

    A page's `minute` is when it was last changed. What `waiting` holds is saved, and not published yet.
    """

    home: str
    people: list[dict[str, str]]
    categories: dict[str, str]
    pages: list[dict[str, Any]]
    redirects: dict[str, str]
    open: tuple[str, ...] = OPEN
    foreign: str = FOREIGN
    agent: str = AGENT
    editor: str = "bruno"


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"wagtail {seed}")
    phones = rng.sample(range(100, 1000), len(_NAMES))
    people = [
        {"name": name, "office": rng.choice(_OFFICES), "phone": f"555 {phone}"}
        for name, phone in zip(_NAMES, phones, strict=True)
    ]
    leaves = [_leaf(rng, section) for sections in SECTIONS.values() for section in sections]
    written = [page for pages in leaves for page in pages]
    rng.shuffle(written)
    sections = [_section("", name) for name in SECTIONS]
    sections += [_section(name, below) for name, names in SECTIONS.items() for below in names]
    pages = [*sections, *written]
    for number, page in enumerate(pages):
        page["minute"] = number * 60
    shown = [page for page in written if page["live"]]
    return Content(
        home=HOME,
        people=people,
        categories=CATEGORIES,
        pages=pages,
        redirects={f"/{old}": page["title"] for old, page in zip(_MOVED, rng.sample(shown, 7), strict=True)},
    )


def slug(title: str) -> str:
    """What an address says of a title."""
    return title.lower().replace(" ", "-")


def _section(parent: str, title: str) -> dict[str, Any]:
    fields = {"introduction": f"All about {title.lower()} in Harnsey."}
    return {"type": "section", "parent": parent, "title": title, "live": True, "fields": fields, "waiting": {}}


def _leaf(rng: random.Random, section: str) -> list[dict[str, Any]]:
    """The pages below a section, each with a title of its own; its first one can be seen."""
    event = section in SECTIONS["Events"]
    titles = [words.format(thing) for words in _TITLES[section] for thing in (THINGS if event else SIGHTS)]
    pages = []
    for number, title in enumerate(rng.sample(titles, PER_SECTION)):
        live = number == 0 or rng.random() < 0.7
        fields = _event(rng) if event else _article(rng)
        waiting = {"summary": rng.choice(NEW_SUMMARIES)} if live and not event and rng.random() < 0.3 else {}
        about = {"type": "event" if event else "article", "parent": section, "title": title}
        pages.append({**about, "live": live, "fields": fields, "waiting": waiting})
    return pages


def _article(rng: random.Random) -> dict[str, str]:
    written = {"summary": rng.choice(_SUMMARIES), "body": rng.choice(_BODIES)}
    return {**written, "author": rng.choice(_NAMES), "category": rng.choice(tuple(CATEGORIES))}


def _event(rng: random.Random) -> dict[str, str]:
    day = f"2026-{rng.randint(2, 8):02}-{rng.randint(1, 28):02}"
    return {"place": rng.choice(PLACES), "day": day, "details": rng.choice(_BODIES)}
