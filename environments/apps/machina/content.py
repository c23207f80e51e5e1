"""What our board holds: a made-up club of gardeners, their forums and what they wrote, drawn from a seed."""

import dataclasses
import random
from typing import Any

NAME, AGENT = "The Potting Shed", "ana"
MEMBERS = ("boris", "chiara", "dora", "emil", "farida", "gustav")
SWAPS = "Swap and lend"
FORUMS = {"The garden": ("Vegetables", "Compost and soil", "Tools and sheds"), "The club": (SWAPS, "Outings")}
_TOPICS = {
    "Vegetables": ("Yellow leaves on the {}", "When to sow {}", "Snails in the {}"),
    "Compost and soil": ("Compost for {}", "Sandy ground and {}", "Ash under the {}"),
    "Tools and sheds": ("A knife for {}", "Frost cover for {}", "Watering {} while away"),
    SWAPS: ("Seedlings of {}", "Spare crate for {}", "Book about {}"),
    "Outings": ("Visit to the {} show", "Helping with the {} harvest", "Tasting evening with {}"),
}
PLANTS = ("beans", "beets", "carrots", "chard", "leeks", "melons", "onions", "peppers", "pumpkins", "radishes")
PER_FORUM = 7
_OPENINGS = (
    "I have two rows of {} this year, and I would like to hear how you go about it.",
    "My neighbor asked me about {}, and I did not know what to say.",
    "After last summer I want to do better with {}.",
    "A question for those who know {} well.",
)
_REPLIES = (
    "Mine did well without any of that.",
    "I would wait until the ground is warmer.",
    "Ask at the gate on Saturday; somebody there will know.",
    "Thank you, that helps.",
    "Last year I tried it, and it was not worth the work.",
    "A little straw does wonders.",
)
POLLS = {
    "Which day suits you?": ("Friday evening", "Saturday morning", "Sunday afternoon"),
    "What should we bring?": ("Bread", "Cheese", "Lemonade", "Plum cake"),
    "How do we get there?": ("By bicycle", "By train", "On foot"),
}
_WAITING = (
    "How to keep the door from sticking",
    "Is rain from the roof clean enough",
    "Lost a blue glove",
    "New here and looking for a plot",
    "Who has a ladder",
)
_SIGNATURES = ("Sow thickly, thin quickly.", "Plot 7, by the pump.", "Rain is welcome.", "Slow and green.")


@dataclasses.dataclass(frozen=True)
class Content:
    """Topics in the order of their numbers, from 1, each with its posts, the oldest first.

    A topic's `minute` is when it was begun, and each of its posts is one minute later than the one before.
    """

    name: str
    members: tuple[str, ...]
    forums: dict[str, tuple[str, ...]]
    topics: list[dict[str, Any]]
    waiting: list[dict[str, str]]
    subscribed: list[str]
    signatures: dict[str, str]
    agent: str = AGENT


def make(seed: int = 0) -> Content:
    """The same for the same seed."""
    rng = random.Random(f"machina {seed}")
    topics = [_topic(rng, forum, subject, plant) for forum in _TOPICS for subject, plant in _subjects(rng, forum)]
    rng.shuffle(topics)
    for number, topic in enumerate(topics):
        topic["minute"] = number * 60
    outings = [topic for topic in topics if topic["forum"] == "Outings"]
    for topic, (question, options) in zip(outings, POLLS.items(), strict=False):
        topic |= {"poll": {"question": question, "options": list(options)}, "locked": False}
    open_topics = [topic["subject"] for topic in topics if not topic["locked"]]
    waiting = [
        {"subject": subject, "poster": rng.choice(MEMBERS), "topic": topic, "text": rng.choice(_REPLIES)}
        for subject, topic in zip(_WAITING, rng.sample(open_topics, len(_WAITING)), strict=True)
    ]
    return Content(
        name=NAME,
        members=(AGENT, *MEMBERS),
        forums=FORUMS,
        topics=topics,
        waiting=waiting,
        subscribed=rng.sample(open_topics, 8),
        signatures=dict(zip((AGENT, *rng.sample(MEMBERS, 3)), rng.sample(_SIGNATURES, 4), strict=True)),
    )


def _subjects(rng: random.Random, forum: str) -> list[tuple[str, str]]:
    """(subject, plant), each other than the others."""
    return rng.sample([(words.format(plant), plant) for words in _TOPICS[forum] for plant in PLANTS], PER_FORUM)


def _topic(rng: random.Random, forum: str, subject: str, plant: str) -> dict[str, Any]:
    poster = rng.choice(MEMBERS)
    text = rng.choice(_OPENINGS).format(plant)
    if forum == SWAPS:
        text = f"Who would like it? I ask for jars of honey: {rng.randint(2, 19)}."
    others = [AGENT, *(one for one in MEMBERS if one != poster)]
    writers = rng.sample(others, rng.randint(1, 4))
    replies = zip(writers, rng.sample(_REPLIES, len(writers)), strict=True)
    posts = [{"poster": poster, "text": text}, *({"poster": one, "text": words} for one, words in replies)]
    return {"forum": forum, "subject": subject, "locked": rng.random() < 0.12, "posts": posts}
