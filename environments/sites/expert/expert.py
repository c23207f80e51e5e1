"""The expert: messages in, Thought and Action out. It keeps nothing between calls and decides by the newest page."""

from collections.abc import Sequence
from typing import Any

from environments.sites.expert.plans import aim, plan
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
    goal = f'I need "{move.goal}". ' if move.goal else ""
    thought = f"My task is to {aim(instruction.family)}. I am on '{page.title}'. {goal}{move.reason}"
    return f"Thought: {thought}\n\nAction: {move.action}"
