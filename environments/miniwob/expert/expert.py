"""The expert: messages in, Thought and Action out. It keeps nothing between calls: it reads the newest page, and what
it did before."""

from collections.abc import Sequence
from typing import Any

from common.network.stand_in import text_of
from environments.miniwob.expert.rules import RULES
from environments.miniwob.expert.seen import Move, Seen
from environments.sites.expert.reading import read_page, read_task

LOADING = Move("Wait", "The page says 'Loading'.")
"""In the words in which the embedded websites' teacher waits, too."""
GIVE_UP = Move("ANSWER; I do not know how.", "I have no rule for this.")
_OVER = "The episode is over."


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The next `Thought: ... Action: ...`.

    Raises:
        NotUnderstoodError: the messages hold no task, or no page.
    """
    said = [text_of(message) for message in messages if message["role"] == "assistant"]
    steps = [reply.rpartition("Action: ")[2] for reply in said if LOADING.reason not in reply]
    seen = Seen(read_page(messages), steps)
    move = _decide(read_task(messages), seen) or GIVE_UP
    needed = ", ".join(f'"{name}"' for name in move.needs)
    told = f"I need {needed}. {move.reason}" if needed else move.reason
    return f"Thought: I am on '{seen.page.elements[0].name}'. {told}\n\nAction: {move.action}"


def _decide(ques: str, seen: Seen) -> Move | None:
    if "busy: 1" in seen.page.elements[0].properties:
        return LOADING
    if any(_OVER in element.name for element in seen.page.elements):
        return Move("ANSWER; done", f"The page says '{_OVER}'.")
    found = ((rule, pattern.search(ques)) for pattern, rule in RULES)
    return next((rule(seen, match) for rule, match in found if match), None)
