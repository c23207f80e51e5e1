"""What our TiddlyWiki holds: the notebook of a made-up museum of clocks, drawn from a seed."""

import dataclasses
import random

NAME, AUTHOR = "The Clock Rooms", "Hedda"
WELCOME, CATALOG, WORK_LIST = "Welcome", "Catalog", "Work list"
JOB, DONE, ROOM, MAKER, LOG = "Job", "Done", "Room", "Maker", "Log"
STATES = ("Running", "Stopped", "On loan")
KINDS = {"Regulator": "Regulators", "Bracket Clock": "Bracket clocks", "Carriage Clock": "Carriage clocks"}
ADJECTIVES = (
    *("Brass", "Comet", "Ebony", "Fallow", "Ivory", "Juniper", "Lacquer", "Mirror", "Narrow", "Painted", "Quiet"),
    *("Rosewood", "Slate", "Tulip", "Walnut"),
)
ROOMS = ("Blue Hall", "Long Gallery", "North Attic", "Stair Room", "Vaulted Cellar")
KEEPERS = ("Aron", "Birte", "Cosmo", "Delia", "Espen")
MAKERS = ("Jonas Aldringer", "Marta Bellweather", "Otto Cranz", "Pia Delacroix", "Rufus Eames", "Selma Fjord")
NUM_CLOCKS, NUM_JOBS, NUM_LOGS = 30, 18, 8

_CITIES = ("Aarau", "Bruges", "Coimbra", "Delft", "Exeter", "Fano", "Ghent")
_NOTICES = (
    "The alarm is tested on the first Monday.",
    "Winding begins at eight, before visitors come.",
    "Please do not lean on the glass.",
    "The lamp by the door flickers.",
    "School classes meet here on Fridays.",
)
_TASKS = ("Oil the {}", "Polish the {}", "Set the {}", "Photograph the {}", "Dust the {}")
_SEEN = (
    "A visitor asked for the postcard of it.",
    "The strike was heard twice at noon.",
    "Somebody left an umbrella beside it.",
    "A school class drew it all morning.",
)


@dataclasses.dataclass(frozen=True)
class Page:
    """What TiddlyWiki calls a tiddler."""

    title: str
    text: str
    tags: tuple[str, ...] = ()


def make(seed: int = 0) -> list[Page]:
    """The same for the same seed."""
    rng = random.Random(f"tiddlywiki {seed}")
    clocks = sorted(rng.sample([f"{one} {kind}" for one in ADJECTIVES for kind in KINDS], NUM_CLOCKS))
    pages, rows = [], []
    for clock, key in zip(clocks, rng.sample(range(11, 99), NUM_CLOCKS), strict=True):
        maker, room, year = rng.choice(MAKERS), rng.choice(ROOMS), rng.randint(1701, 1899)
        rows.append(f"|[[{clock}]]|[[{maker}]]|[[{room}]]|{year}|")
        pages.append(_clock(rng, clock, maker, room, year, key))
    pages += [Page(CATALOG, "\n".join(["|!Clock|!Maker|!Room|!Year|", *rows]))]
    pages += _rooms(rng) + _makers(rng) + _jobs(rng, clocks) + _logs(rng, clocks)
    return [*pages, Page(WELCOME, _WELCOME), Page(WORK_LIST, _WORK_LIST)]


_WELCOME = f"""This is the notebook of those who wind the clocks.

* [[{CATALOG}]]: every clock, who made it, and where it stands
* [[{WORK_LIST}]]: what is to be done"""
_WORK_LIST = f"""Tick what is done.

<$list filter="[tag[{JOB}]sort[title]]">
<div><$checkbox tag="{DONE}"> <$view field="title"/></$checkbox></div>
</$list>"""


def _clock(rng: random.Random, clock: str, maker: str, room: str, year: int, key: int) -> Page:
    kind = next(tag for end, tag in KINDS.items() if clock.endswith(end))
    about = f"Made by [[{maker}]] in {year}. It stands in the [[{room}]]."
    facts = f"* Height: {rng.randint(14, 260)} cm\n* Key: number {key}\n* Days between windings: {rng.randint(2, 30)}"
    return Page(clock, f"{about}\n\n{facts}", (kind, rng.choice(STATES)))


def _rooms(rng: random.Random) -> list[Page]:
    pages = []
    keepers, notices = rng.sample(KEEPERS, len(ROOMS)), rng.sample(_NOTICES, len(ROOMS))
    for room, keeper, notice in zip(ROOMS, keepers, notices, strict=True):
        about = f"* Keeper: {keeper}\n* Floor: {rng.randint(0, 4)}\n\nSee also: [[Notice for the {room}]]"
        pages += [Page(room, about, (ROOM,)), Page(f"Notice for the {room}", notice)]
    return pages


def _makers(rng: random.Random) -> list[Page]:
    return [
        Page(maker, f"* Workshop: {city}\n* Born: {rng.randint(1650, 1820)}", (MAKER,))
        for maker, city in zip(MAKERS, rng.sample(_CITIES, len(MAKERS)), strict=True)
    ]


def _jobs(rng: random.Random, clocks: list[str]) -> list[Page]:
    titles = sorted(rng.sample([task.format(clock) for task in _TASKS for clock in clocks], NUM_JOBS))
    finished = rng.sample(titles, NUM_JOBS // 3)
    return [Page(title, "", (JOB, DONE) if title in finished else (JOB,)) for title in titles]


def _logs(rng: random.Random, clocks: list[str]) -> list[Page]:
    days = sorted(rng.sample(range(1, 29), NUM_LOGS))
    return [Page(f"Log of March {day}", f"[[{rng.choice(clocks)}]]: {rng.choice(_SEEN)}", (LOG,)) for day in days]
