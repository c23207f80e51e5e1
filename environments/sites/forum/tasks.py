"""What may be asked of a visitor of the forum."""

import random

from environments.sites.forum.content import Forum, Thread
from environments.sites.truth import Instance, answer, deal, demand, found, state
from environments.sites.words import NOUNS, SPLITS

_REPLIES = [
    f"{begin} {{}}" for begin in ("Try the", "Ask about", "Good", "Bring your", "Keep the", "Look at", "Fresh", "Sell")
]


def instances(forum: Forum, split: str, count: int) -> dict[str, list[Instance]]:
    """`count` instances of every family, over threads of `split` only."""
    rng = random.Random(f"forum tasks {split}")
    threads = deal(forum.of(split), f"threads {split}")
    nouns = deal(NOUNS[list(SPLITS).index(split) :: len(SPLITS)], f"replies {split}")
    return {
        "Forum-author": [_author(next(threads)) for _ in range(count)],
        "Forum-views": [_views(next(threads)) for _ in range(count)],
        "Forum-reply": [_reply(next(threads), rng.choice(_REPLIES).format(next(nouns).lower())) for _ in range(count)],
        "Forum-upvote": [_upvote(next(threads)) for _ in range(count)],
    }


def _author(thread: Thread) -> Instance:
    return Instance({"board": thread.board, "thread": thread.title}, answer(thread.author))


def _views(thread: Thread) -> Instance:
    return Instance({"thread": thread.title}, answer(str(thread.num_views)))


def _reply(thread: Thread, text: str) -> Instance:
    slots = {"text": text, "thread": thread.title, "board": thread.board}
    return Instance(slots, state(replies=[{"thread": thread.title, "text": text}], votes=[]))


def _upvote(thread: Thread) -> Instance:
    return Instance({"thread": thread.title, "board": thread.board}, state(votes=[thread.title], replies=[]))


def instance_of(forum: Forum, family: str, slots: dict[str, str]) -> tuple[Instance, str]:
    """(what an instruction of this family asks for, the split its entities belong to); InfeasibleError otherwise."""
    thread = found(forum.threads.get(slots["thread"]), f"no thread {slots['thread']!r}")
    if "board" in slots:
        demand(thread.board == slots["board"], f"{thread.title!r} is on the board {thread.board!r}")
    if family == "Forum-reply":
        return _reply(thread, " ".join(slots["text"].split())), thread.split
    return {"Forum-author": _author, "Forum-views": _views, "Forum-upvote": _upvote}[family](thread), thread.split
