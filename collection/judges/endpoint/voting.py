"""n votes of one judge: the majority decides, and voting ends as soon as it is certain."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from collection.judges.endpoint.endpoint import JudgeReply
from collection.judges.endpoint.faults import BudgetSpentError, JudgeFault

VOTE_TEMPERATURE = 1.0  # several votes at temperature 0 would be one vote
FIRST_SEED = 42  # as published


def vote(ask: Callable[[float, int], JudgeReply], num_votes: int) -> tuple[Any, list[JudgeReply]]:
    """(what most votes say, every vote cast). `ask(temperature, seed)` gives one vote.

    A vote that fails is lost; the others may still make a majority of all `num_votes`.

    Raises:
        JudgeFault: no majority; BudgetSpentError when the money went before.
    """
    temperature = VOTE_TEMPERATURE if num_votes > 1 else 0.0
    counts: Counter[Any] = Counter()
    cast: list[JudgeReply] = []
    fault: JudgeFault | None = None
    for number in range(num_votes):
        try:
            reply = ask(temperature, FIRST_SEED + number)
        except BudgetSpentError:
            raise
        except JudgeFault as error:
            fault = error
            continue
        cast.append(reply)
        counts[reply.meaning] += 1
        if counts[reply.meaning] > num_votes // 2:
            return reply.meaning, cast
    raise (
        fault
        if fault is not None
        else JudgeFault(f"no majority among {num_votes} votes", "\n".join(reply.text for reply in cast))
    )
