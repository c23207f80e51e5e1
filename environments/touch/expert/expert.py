"""The expert: messages in, a reply in AppAgent's words out. It keeps nothing between calls: it reads the newest screen,
and what it said before."""

from collections.abc import Sequence
from typing import Any

from common.network.stand_in import text_of
from data.action_spaces.appagent import SPACE
from environments.sites.expert.reading import NotUnderstoodError, read_page, read_task
from environments.touch.expert.rules import Seen
from environments.touch.families import FAMILIES


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The next thought and action.

    Raises:
        NotUnderstoodError: the messages hold no task of the phone, or no screen that leads on.
    """
    ques = read_task(messages)
    for family in FAMILIES.values():
        slots = family.slots(ques)
        if slots is None:
            continue
        said = [text_of(message) for message in messages if message["role"] == "assistant"]
        page = read_page(messages)
        move = family.plan(**slots)(Seen(page, said))
        if move is None:
            raise NotUnderstoodError(f"nothing on the screen leads on towards: {ques}")
        return SPACE.render(f"I am on '{page.title}'. {move.reason}", [move.action], None)
    raise NotUnderstoodError(f"the phone's expert knows only the phone's tasks, not {ques!r}")
