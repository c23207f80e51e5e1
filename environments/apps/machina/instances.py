"""An instance of each kind of task on our board, drawn with its ground truth; `tasks.py` has the words."""

import random
import re
from collections import Counter

from environments.apps.application import Record
from environments.apps.machina.content import AGENT, FORUMS, MEMBERS, PLANTS, SWAPS
from environments.apps.templates import Instance, State, cannot, edits, leaves, says, shows

_SUBJECTS = ("Rain barrels", "Found a trowel", "Hedgehog by the gate", "Seed potatoes", "Bees", "Parsnip soup")
_TEXTS = (
    "Please write to me if you know more.",
    "I will be there on Saturday and can show it to you.",
    "Nothing has come up yet, so I begin again next week.",
    "The pump is repaired.",
    "Half of the bed is still free.",
)
_SIGNATURES = ("Dig less, mulch more.", "Plot 12, behind the shed.", "Always early.", "Fond of weeds.")
_MISSING = ("artichokes", "celery", "fennel", "okra", "quinces", "rhubarb")
_ABSENT = ("Mildew on the {}", "Prices for {}", "Drying {} at home")
_PLACES = tuple(name for names in FORUMS.values() for name in names)


def topics(state: State, locked: bool | None = None) -> list[Record]:
    """All, or those that are locked or not."""
    return [one for one in state.of("topic") if locked is None or (one["status"] == "locked") == locked]


def posts(state: State, topic: Record) -> list[Record]:
    """That can be seen in a topic, the oldest first."""
    return [one for one in state.of("post") if one["topic"] == topic["subject"] and one["approved"] == "yes"]


def _named(topic: Record, **more: str) -> dict[str, str]:
    return {"topic": topic["subject"], **more}


def topic_author(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state))
    return Instance(_named(topic), says(topic["poster"], MEMBERS))


def newest_writer(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state))
    return Instance(_named(topic), says(posts(state, topic)[-1]["poster"], (AGENT, *MEMBERS)))


def _asked(state: State, topic: Record) -> str:
    return re.findall(r"jars of honey: (\d+)", posts(state, topic)[0]["text"])[0]


def asked_price(state: State, rng: random.Random) -> Instance:
    swaps = [one for one in topics(state) if one["forum"] == SWAPS]
    topic = rng.choice(swaps)
    return Instance(_named(topic), says(_asked(state, topic), tuple(_asked(state, one) for one in swaps)))


def forum_of(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state))
    return Instance(_named(topic), says(topic["forum"], _PLACES))


def open_topic(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state))
    forum = next(one for one in forums(state) if one["name"] == topic["forum"])
    path = f"/forum/{_slug(forum['name'])}-{forum['id']}/topic/{topic['slug']}-{topic['id']}"
    return Instance(_named(topic), shows(path))


def forums(state: State) -> list[Record]:
    """With their numbers, which follow their order."""
    return [{**one, "id": number} for number, one in enumerate(state.of("forum"), start=1)]


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


def open_author(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state))
    author = next(one for one in state.of("member") if one["name"] == topic["poster"])
    return Instance(_named(topic), shows(f"/member/profile/{author['id']}"))


def _post(topic: str, text: str, subject: str = "") -> Record:
    empty = {"username": "", "update_reason": ""}
    written = {"subject": subject or f"Re: {topic}", "text": text, "approved": "yes", "enable_signature": "yes"}
    return {"kind": "post", "id": "new", "topic": topic, "poster": AGENT, **written, **empty}


def _begun(forum: str, subject: str, text: str, type: int = 0) -> list[Record]:
    """A new topic and its post."""
    about = {"subject": subject, "slug": _slug(subject), "poster": AGENT, "forum": forum, "type": type}
    topic = {"kind": "topic", "id": "new", **about, "status": "open", "approved": "yes"}
    return [topic, _post(subject, text, subject)]


def new_topic(state: State, rng: random.Random) -> Instance:
    slots = {"forum": rng.choice(_PLACES), "subject": rng.choice(_SUBJECTS), "text": rng.choice(_TEXTS)}
    return Instance(slots, leaves(_begun(slots["forum"], slots["subject"], slots["text"])))


def new_sticky(state: State, rng: random.Random) -> Instance:
    slots = {"forum": rng.choice(_PLACES), "subject": rng.choice(_SUBJECTS), "text": rng.choice(_TEXTS)}
    return Instance(slots, leaves(_begun(slots["forum"], slots["subject"], slots["text"], type=1)))


def reply(state: State, rng: random.Random) -> Instance:
    topic, text = rng.choice(topics(state, locked=False)), rng.choice(_TEXTS)
    return Instance(_named(topic, text=text), leaves([_post(topic["subject"], text)]))


def subscribe(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(_not_subscribed(state))
    return Instance(_named(topic), leaves([_subscription(topic)]))


def _not_subscribed(state: State) -> list[Record]:
    held = {one["topic"] for one in state.of("subscription")}
    return [one for one in topics(state) if one["subject"] not in held]


def _subscription(topic: Record) -> Record:
    return {"kind": "subscription", "topic": topic["subject"], "member": AGENT}


def unsubscribe(state: State, rng: random.Random) -> Instance:
    held = rng.choice(state.of("subscription"))
    return Instance({"topic": held["topic"]}, leaves([], [held]))


def vote(state: State, rng: random.Random) -> Instance:
    poll = rng.choice(state.of("poll"))
    option = rng.choice([one["text"] for one in state.of("option") if one["question"] == poll["question"]])
    wanted = {"kind": "vote", "question": poll["question"], "option": option, "voter": AGENT}
    return Instance({"topic": poll["topic"], "option": option}, leaves([wanted]))


def _replies(state: State, own: bool) -> list[Record]:
    """Of the agent or of others, each in a topic that is not locked; nobody answers twice in one."""
    found = [post for topic in topics(state, locked=False) for post in posts(state, topic)[1:]]
    return [post for post in found if (post["poster"] == AGENT) == own]


def edit_reply(state: State, rng: random.Random) -> Instance:
    post, text = rng.choice(_replies(state, own=True)), rng.choice(_TEXTS)
    return Instance({"topic": post["topic"], "text": text}, edits(post, text=text))


def delete_reply(state: State, rng: random.Random) -> Instance:
    post = rng.choice(_replies(state, own=False))
    return Instance({"member": post["poster"], "topic": post["topic"]}, leaves([], [post]))


def signature(state: State, rng: random.Random) -> Instance:
    member, text = next(one for one in state.of("member") if one["name"] == AGENT), rng.choice(_SIGNATURES)
    return Instance({"text": text}, edits(member, signature=text))


def lock_topic(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state, locked=False))
    return Instance(_named(topic), edits(topic, status="locked"))


def move_topic(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state, locked=False))
    forum = rng.choice([name for name in _PLACES if name != topic["forum"]])
    return Instance(_named(topic, forum=forum), edits(topic, forum=forum))


def approve(state: State, rng: random.Random) -> Instance:
    post = rng.choice([one for one in state.of("post") if one["approved"] == "no"])
    return Instance({"subject": post["subject"]}, edits(post, approved="yes"))


def _only(state: State, rng: random.Random, found: list[Record]) -> Record:
    """A topic whose author began no other one in its forum."""
    begun = Counter((one["forum"], one["poster"]) for one in topics(state))
    return rng.choice([one for one in found if begun[one["forum"], one["poster"]] == 1])


def find_only(state: State, rng: random.Random) -> Instance:
    topic = _only(state, rng, topics(state))
    slots = {"forum": topic["forum"], "member": topic["poster"]}
    return Instance(slots, says(topic["subject"], tuple(one["subject"] for one in topics(state))))


def lock_only(state: State, rng: random.Random) -> Instance:
    topic = _only(state, rng, topics(state, locked=False))
    return Instance({"forum": topic["forum"], "member": topic["poster"]}, edits(topic, status="locked"))


def name_author(state: State, rng: random.Random) -> Instance:
    topic = rng.choice(topics(state, locked=False))
    return Instance(_named(topic), leaves([_post(topic["subject"], topic["poster"])]))


def subscribe_two(state: State, rng: random.Random) -> Instance:
    topic, other = rng.sample(_not_subscribed(state), 2)
    slots = {"topic": topic["subject"], "other": other["subject"]}
    return Instance(slots, leaves([_subscription(topic), _subscription(other)]))


def no_topic(state: State, rng: random.Random) -> Instance:
    plant = rng.choice((*PLANTS, *_MISSING))
    return Instance({"topic": rng.choice(_ABSENT).format(plant)}, cannot())


def foreign_reply(state: State, rng: random.Random) -> Instance:
    """Moderators here may not change what others wrote."""
    post, text = rng.choice(_replies(state, own=False)), rng.choice(_TEXTS)
    return Instance({"member": post["poster"], "topic": post["topic"], "text": text}, cannot())
