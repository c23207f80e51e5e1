"""What may be asked of a traveller."""

import itertools
import random

from data.sites.timetable.content import CLASSES, Timetable, Train
from data.sites.truth import Instance, answer, state


def instances(timetable: Timetable, split: str, count: int) -> dict[str, list[Instance]]:
    """`count` instances of every family, over trains of `split` only."""
    rng = random.Random(f"timetable tasks {split}")
    own = [trains for trains in timetable.connections.values() if trains[0].split == split]
    connections = list(itertools.islice(itertools.cycle(own), count))
    passengers = itertools.cycle(timetable.passengers[split])
    return {
        "Rail-departure": [_departure(first) for first, _, _ in connections],
        "Rail-platform": [_platform(second) for _, second, _ in connections],
        "Rail-book": [
            _book(third, passenger, rng.choice(CLASSES))
            for (_, _, third), passenger in zip(connections, passengers, strict=False)
        ],
    }


def _departure(first: Train) -> Instance:
    return Instance({"origin": first.origin, "destination": first.destination}, answer(first.departure))


def _platform(train: Train) -> Instance:
    return Instance({"train": train.name}, answer(str(train.platform)))


def _book(train: Train, passenger: str, travel_class: str) -> Instance:
    slots = {"train": train.name, "passenger": passenger, "travel_class": travel_class}
    return Instance(slots, state(bookings=[slots]))
