"""Which trains run."""

import dataclasses
from collections.abc import Mapping

from environments.sites.words import FILLER, Words

CONNECTIONS_PER_SHARE = 5
TRAINS_PER_CONNECTION = 3
CLASSES = ("Standard", "Comfort", "First")


@dataclasses.dataclass(frozen=True)
class Train:
    """Times are minutes after midnight."""

    name: str
    split: str
    origin: str
    destination: str
    departure_min: int
    arrival_min: int
    platform: int

    @property
    def departure(self) -> str:
        return clock(self.departure_min)

    @property
    def arrival(self) -> str:
        return clock(self.arrival_min)


@dataclasses.dataclass(frozen=True)
class Timetable:
    """`connections` maps (origin, destination) to its trains by departure; `passengers` book seats, by split."""

    connections: dict[tuple[str, str], list[Train]]
    trains: dict[str, Train]
    passengers: dict[str, list[str]]

    def of(self, split: str) -> list[Train]:
        return [train for train in self.trains.values() if train.split == split]


def clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def build(words: Words, shares: Mapping[str, int]) -> Timetable:
    """What belongs to these splits."""
    connections = {}
    for split, share in shares.items():
        for _ in range(CONNECTIONS_PER_SHARE * share):
            trains = _connect(words, split)
            connections[trains[0].origin, trains[0].destination] = trains
    trains = {train.name: train for trains in connections.values() for train in trains}
    passengers = {
        split: [words.person() for _ in range(CONNECTIONS_PER_SHARE * share)]
        for split, share in shares.items()
        if split != FILLER
    }
    return Timetable(connections, trains, passengers)


def _connect(words: Words, split: str) -> list[Train]:
    rng, origin, destination = words.rng, words.made_up(), words.made_up()
    duration_min = rng.randint(35, 180)
    departures = sorted(rng.sample(range(10 * 60, 20 * 60), TRAINS_PER_CONNECTION))
    return [
        Train(
            name=f"{words.made_up()} {rng.randint(10, 99)}",
            split=split,
            origin=origin,
            destination=destination,
            departure_min=departure,
            arrival_min=departure + duration_min,
            platform=rng.randint(2, 19),
        )
        for departure in departures
    ]
