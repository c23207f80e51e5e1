"""No action reaches what was not chosen, on pages made for it. For longer: python -m tests.adversary.hostile_clicks"""

import asyncio
import itertools

from tests.adversary.hostile_clicks import run


def test_no_action_reaches_what_was_not_chosen() -> None:
    tally = asyncio.run(run(itertools.count(), 6.0))
    assert tally.wrong == []
    assert tally.pages > 1 and any(outcome.endswith("done") for outcome in tally.outcomes)
