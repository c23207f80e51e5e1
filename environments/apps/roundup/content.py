"""What our Roundup holds: the bugs of a made-up observatory's software, drawn from a seed."""

import dataclasses
import random
from typing import Any

AGENT = "ana"
PEOPLE = {"ana": "Ana Lund", "boris": "Boris Weiss", "chen": "Chen Sato", "dora": "Dora Reyes", "emil": "Emil Okafor"}
TYPES = ("crash", "resource usage", "security", "behavior", "rfe")
SEVERITIES = ("critical", "urgent", "major", "normal", "minor")
PRIORITIES = ("immediate", "high", "low")  # two more are called as severities are
STATUSES = ("open", "closed", "pending")
RESOLUTIONS = ("duplicate", "fixed", "invalid", "rejected", "works for me")
COMPONENTS = ("backend", "frontend", "documentation", "specification")
VERSIONS = ("1.0", "1.1", "1.2", "1.3")
NUM_BUGS = 40

_THINGS = (
    *("Dome motor", "Mirror cover", "Star catalog", "Filter wheel", "Night log", "Guide camera", "Weather mast"),
    *("Focus curve", "Exposure timer", "Spectrum viewer", "Telescope queue", "Dark frame archive", "Visitor calendar"),
)
_FAULTS = (
    "{} stops at midnight",
    "{} shows yesterday",
    "{} cannot be exported",
    "{} ignores the moon",
    "{} counts twice",
    "{} needs a legend",
    "{} forgets the last night",
    "{} is unreadable in red light",
)


@dataclasses.dataclass(frozen=True)
class Content:
    """Bugs in the order of their numbers, from 1."""

    bugs: list[dict[str, Any]]


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"roundup {seed}")
    titles = [fault.format(thing) for thing in _THINGS for fault in _FAULTS]
    return Content([_bug(rng, title) for title in rng.sample(titles, NUM_BUGS)])


def _bug(rng: random.Random, title: str) -> dict[str, Any]:
    status = rng.choice(STATUSES)
    return {
        "title": title,
        "type": rng.choice(TYPES),
        "severity": rng.choice(SEVERITIES),
        "priority": rng.choice(PRIORITIES),
        "status": status,
        "resolution": rng.choice(RESOLUTIONS) if status == "closed" else "",
        "assignee": rng.choice(list(PEOPLE)),
        "creator": rng.choice(list(PEOPLE)),
        "components": rng.choice(COMPONENTS),
        "versions": rng.choice(VERSIONS),
    }
