"""What hangs in the gallery."""

import dataclasses
import itertools

from environments.sites.words import SPLITS, Words

ROOMS_PER_SHARE = 4  # of each kind
EXHIBITS_PER_ROOM = 6
KINDS = ("shapes", "charts", "lamps")
COLORS = {
    "red": "#e01010",
    "orange": "#ff7a00",
    "yellow": "#f2d600",
    "green": "#12a63c",
    "blue": "#1550e0",
    "purple": "#8e20d0",
}
SHAPES = ("circle", "square", "triangle")
MOST = 9  # the longest bar of a chart


@dataclasses.dataclass(frozen=True)
class Exhibit:
    """`kind` says what is drawn: a `shape` in a `color`; `bars`, from color to value; a lamp that is `lit` or not."""

    title: str
    room: str
    split: str
    kind: str
    year: str
    color: str
    shape: str
    bars: dict[str, int]
    lit: bool


@dataclasses.dataclass(frozen=True)
class Gallery:
    """`rooms` maps a room to the titles of its exhibits."""

    rooms: dict[str, list[str]]
    exhibits: dict[str, Exhibit]

    def of(self, split: str, kind: str) -> list[Exhibit]:
        return [exhibit for exhibit in self.exhibits.values() if (exhibit.split, exhibit.kind) == (split, kind)]


def build(words: Words) -> Gallery:
    exhibits = [
        exhibit
        for split, share in SPLITS.items()
        if split != "test-2"  # of which no task is about pictures
        for kind in KINDS
        for _ in range(ROOMS_PER_SHARE * share)
        for exhibit in _furnish(words, split, kind)
    ]
    rooms: dict[str, list[str]] = {}
    for exhibit in exhibits:
        rooms.setdefault(exhibit.room, []).append(exhibit.title)
    return Gallery(rooms, {exhibit.title: exhibit for exhibit in exhibits})


def _furnish(words: Words, split: str, kind: str) -> list[Exhibit]:
    """A room; no two of its exhibits show the same shape in the same color."""
    rng, room = words.rng, words.made_up("lnr")
    shown = rng.sample(list(itertools.product(COLORS, SHAPES)), EXHIBITS_PER_ROOM)
    return [
        Exhibit(
            title=f"{room} {number}",
            room=room,
            split=split,
            kind=kind,
            year=str(rng.randint(1700, 1999)),
            color=color,
            shape=shape,
            bars={name: rng.randint(1, MOST) for name in rng.sample(list(COLORS), 4)},
            lit=rng.random() < 0.5,
        )
        for number, (color, shape) in zip(rng.sample(range(10, 100), EXHIBITS_PER_ROOM), shown, strict=True)
    ]
