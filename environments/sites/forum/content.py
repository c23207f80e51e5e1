"""What is written in the forum."""

import dataclasses
import random
from collections.abc import Mapping

from environments.sites.words import FILLER, Words

THREADS_PER_BOARD = 10

_BOARDS = {  # with few boards to learn from, an agent learns where they lead by heart
    "IL": "Chess Pottery Origami Astronomy Carpentry Puzzles Beekeeping Cycling Baking Comics Bonsai Hockey Museums "
    "Karaoke Mosaics Surfing",
    "optim-1": "Sailing Poetry",
    "optim-2": "Camping Opera",
    "optim-3": "Robotics Gardens",
    "test": "Hiking Fossils",
    FILLER: "Lounge",
    "test-2": "Archery Karate Aquariums",
    "validation": "Rowing Guitars",
}
_TOPICS = "repair review question meeting recipe journey contest guide story rumour upgrade survey".split()
_OPENINGS = (
    "I have been thinking about this for weeks and would like to hear other opinions.",
    "Before I decide anything, let me know what has worked for you.",
    "Here is what I found out so far, corrections are welcome.",
    "This came up at our last get-together and nobody knew a good answer.",
)
_ANSWERS = (
    "Same here, I am following this one.",
    "It took me two attempts, then it went well.",
    "A friend of mine would disagree, but I like it.",
    "Have a look at the older threads as well.",
    "Thank you for bringing this up.",
)


@dataclasses.dataclass(frozen=True)
class Thread:
    """`replies` are (author, text) pairs."""

    title: str
    board: str
    split: str
    author: str
    opening: str
    num_views: int
    num_votes: int
    replies: list[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Forum:
    """`boards` maps a board to the titles of its threads."""

    boards: dict[str, list[str]]
    threads: dict[str, Thread]

    def of(self, split: str) -> list[Thread]:
        return [thread for thread in self.threads.values() if thread.split == split]


def build(words: Words, shares: Mapping[str, int]) -> Forum:
    """What belongs to these splits."""
    threads = [
        _write(words, board, split, topic)
        for split in shares
        for board in _BOARDS[split].split()
        for topic in words.rng.sample(_TOPICS, THREADS_PER_BOARD)
    ]
    boards: dict[str, list[str]] = {}
    for thread in threads:
        boards.setdefault(thread.board, []).append(thread.title)
    return Forum(boards, {thread.title: thread for thread in threads})


def _write(words: Words, board: str, split: str, topic: str) -> Thread:
    rng: random.Random = words.rng
    return Thread(
        title=f"{words.made_up()} {topic}",
        board=board,
        split=split,
        author=words.made_up().lower(),
        opening=rng.choice(_OPENINGS),
        num_views=rng.randint(100, 9999),
        num_votes=rng.randint(10, 99),
        replies=[(words.made_up().lower(), answer) for answer in rng.sample(_ANSWERS, 2)],
    )
