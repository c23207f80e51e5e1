"""What our conference holds: made-up sessions about fruit, drawn from a seed, and when and where each takes place."""

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

AGENT, EVENT, SLUG = "Ana Ruiz", "Orchard Days", "orchard"
DAYS = {"2026-01-16": "Friday", "2026-01-17": "Saturday", "2026-01-18": "Sunday"}
"""Tomorrow it begins, so that speakers can be marked as arrived."""
TIMES = ("09:00", "11:00", "13:30", "15:30")
ROOMS = {"Attic": 25, "Barn": 120, "Cider house": 60, "Greenhouse": 45, "Old mill": 30, "Stable": 80}
"""How many people fit in."""
USED = ("Barn", "Cider house", "Greenhouse", "Old mill")
TRACKS = ("Cooking", "Growing", "Storing", "Trade")
TYPES = {"Demonstration": 45, "Talk": 30, "Workshop": 90}
"""Minutes that a session takes."""
TAGS = {
    "beginners": "Nothing needs to be known before",
    "children": "Children may come along",
    "outdoors": "Rain or shine, it is outside",
    "tasting": "There is something to eat",
    "bilingual": "In two languages",
    "experts": "For those who do this every day",
    "livestream": "Can be watched from home",
    "materials": "Bring your own basket",
}
_COLORS: tuple[str, ...] = ("#1d5c4a", "#7a3b69", "#b0532a", "#2f5d8a", "#6b6b1f", "#8a2f3d", "#3c4f76", "#54683a")
COLORS = dict(zip(TAGS, _COLORS, strict=True)) | dict(zip(TRACKS, _COLORS, strict=False))
"""Of tags and tracks."""
GIVEN = ("beginners", "children", "outdoors", "tasting")
"""Tags that sessions have."""
_VERBS = ("Drying", "Grafting", "Growing", "Pickling", "Selling", "Storing", "Tasting", "Weighing")
_THINGS = ("apples", "beans", "cherries", "garlic", "mushrooms", "pears", "plums", "quinces", "rhubarb", "walnuts")
SPEAKERS = (
    *("Aiko Tanabe", "Bela Horvath", "Carmen Solis", "Dmitri Orlov", "Edda Lund", "Farid Nasser", "Grace Obi"),
    *("Henk Visser", "Ilse Brandt", "Joao Matos", "Kofi Mensah", "Lucia Ferri", "Mats Ek", "Noor Aziz"),
)
REVIEWERS = ("Bruno Katz", "Clea Roth")
SCORES = {"No": 0, "Maybe": 1, "Yes": 2}
_OPINIONS = ("I would come.", "It was said last year.", "Clear and short.", "The room would be full.", "Too long.")
_ABSTRACTS = (
    "What went wrong in the first years, and what we do now.",
    "Everybody gets to try it.",
    "Pictures from four seasons, and time for questions.",
    "Numbers from our own garden.",
)
_BIOGRAPHIES = ("Has an orchard by the river.", "Teaches at a school for gardeners.", "Came to this late.")
STATES = (*("confirmed",) * 22, *("accepted",) * 8, *("submitted",) * 16, *("rejected",) * 5, *("withdrawn",) * 2)
SCHEDULED = 26
"""So many of the first have a time and a room; the others that were accepted wait for one."""
VERSION = "1.0"


@dataclasses.dataclass(frozen=True)
class Content:
    """Proposals in the order in which they came."""

    rooms: dict[str, int]
    tracks: tuple[str, ...]
    types: dict[str, int]
    tags: dict[str, str]
    colors: Mapping[str, str]
    speakers: list[dict[str, Any]]
    reviewers: tuple[str, ...]
    proposals: list[dict[str, Any]]
    days: tuple[str, ...] = tuple(DAYS)
    event: str = EVENT
    slug: str = SLUG
    version: str = VERSION
    agent: str = AGENT


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"pretalx {seed}")
    titles = rng.sample([f"{verb} {thing}" for verb in _VERBS for thing in _THINGS], len(STATES))
    codes = rng.sample([f"{a}{b}{c}" for a in "BCDFG" for b in "KLMNP" for c in "RTVWX"], len(STATES) + len(SPEAKERS))
    slots = [(day, time, room) for day in DAYS for time in TIMES for room in USED]
    times = iter(rng.sample(slots, SCHEDULED))
    busy: set[tuple[str, str, str]] = set()
    proposals = []
    for number, (title, state) in enumerate(zip(titles, STATES, strict=True)):
        day, time, room = next(times) if number < SCHEDULED else ("", "", "")
        free = [name for name in SPEAKERS if not day or (name, day, time) not in busy]
        speakers = sorted(rng.sample(free, 2 if rng.random() < 0.15 else 1))
        busy |= {(name, day, time) for name in speakers}
        about = {"code": codes[number], "title": title, "state": state, "speakers": speakers}
        proposals.append({**about, **_about(rng, state), "day": day, "time": time, "room": room})
    rng.shuffle(proposals)
    return Content(
        rooms=ROOMS,
        tracks=TRACKS,
        types=TYPES,
        tags=TAGS,
        colors=COLORS,
        speakers=[_speaker(rng, name, code) for name, code in zip(SPEAKERS, codes[len(STATES) :], strict=True)],
        reviewers=REVIEWERS,
        proposals=proposals,
    )


def address_of(name: str) -> str:
    """A person's."""
    return f"{name.lower().replace(' ', '.')}@orchard.example"


def minutes_of(proposal: dict[str, Any]) -> int:
    """How long it takes."""
    return TYPES[proposal["type"]]


def _about(rng: random.Random, state: str) -> dict[str, Any]:
    by = [name for name in REVIEWERS if rng.random() < 0.6]
    reviews = [{"by": name, "label": rng.choice(tuple(SCORES)), "text": rng.choice(_OPINIONS)} for name in by]
    return {
        "type": rng.choice(tuple(TYPES)),
        "track": rng.choice(TRACKS),
        "abstract": rng.choice(_ABSTRACTS),
        "tags": [name for name in GIVEN if rng.random() < 0.2],
        "reviews": reviews if state != "withdrawn" else [],
    }


def _speaker(rng: random.Random, name: str, code: str) -> dict[str, Any]:
    return {"name": name, "code": code, "biography": rng.choice(_BIOGRAPHIES), "arrived": rng.random() < 0.3}
