"""The expert: messages in, Thought and Action out. It keeps nothing between calls and decides by the newest page."""

from collections.abc import Sequence
from typing import Any

from environments.sites.expert.plans import plan, way
from environments.sites.expert.reading import NotUnderstoodError, read_page, read_task
from environments.sites.instructions import parse


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The next `Thought: ... Action: ...`.

    Raises:
        NotUnderstoodError: the messages hold no task of the embedded sites, or no page.
    """
    ques = read_task(messages)
    instruction = parse(ques)
    if instruction is None:
        raise NotUnderstoodError(f"the embedded teacher knows only the embedded sites' tasks, not {ques!r}")
    page = read_page(messages)
    move = plan(instruction.family, instruction.slots)(page)
    if move is None:
        raise NotUnderstoodError(f"nothing on the page leads on towards: {ques}")
    needs = ", ".join(f'"{goal}"' for goal in _from(move.goal, way(instruction.family, instruction.slots)))
    needed = f"I need {needs}. " if move.goal else ""
    return f"Thought: I am on '{page.title}'. {needed}{move.reason}\n\nAction: {move.action}"


def _from(goal: str, way: list[str]) -> list[str]:
    """What is left of the way: an agent that repeats it need not find out anew, on every page, what comes next."""
    return way[way.index(goal) :] if goal in way else [goal]
