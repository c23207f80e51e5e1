"""What may be asked of a traveller."""

import itertools
import random

from environments.sites.timetable.content import CLASSES, Timetable, Train
from environments.sites.truth import Instance, answer, demand, found, state


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


def instance_of(timetable: Timetable, family: str, slots: dict[str, str]) -> tuple[Instance, str]:
    """(what an instruction of this family asks for, the split its entities belong to); InfeasibleError otherwise."""
    if family == "Rail-departure":
        fault = f"no train goes from {slots['origin']!r} to {slots['destination']!r}"
        trains = found(timetable.connections.get((slots["origin"], slots["destination"])), fault)
        return _departure(trains[0]), trains[0].split
    train = found(timetable.trains.get(slots["train"]), f"no train {slots['train']!r}")
    if family == "Rail-platform":
        return _platform(train), train.split
    demand(slots["travel_class"] in CLASSES, f"no class {slots['travel_class']!r}")
    return _book(train, slots["passenger"], slots["travel_class"]), train.split
