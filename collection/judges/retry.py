"""Ask again what may pass, with pauses that grow."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from collection.judges.faults import JudgeFault

Result = TypeVar("Result")

MAX_ATTEMPTS = 6
FIRST_PAUSE_S = 0.5  # doubled at each further attempt
LONGEST_PAUSE_S = 60.0


class Transient(Exception):  # noqa: N818
    """A failure that may pass, not tried again before `pause_s`."""

    def __init__(self, message: str, pause_s: float = 0.0):
        super().__init__(message)
        self.pause_s = pause_s


def backoff_s(attempt: int, at_least_s: float = 0.0) -> float:
    """The pause after attempt number `attempt` (0 is the first), spread so that many askers don't return at once."""
    return max(at_least_s, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt) * random.uniform(0.75, 1.25))


def retry(call: Callable[[], Result], max_attempts: int = MAX_ATTEMPTS) -> Result:
    """The result of `call`, which raises Transient for what may pass; JudgeFault when it never did."""
    for attempt in range(max_attempts):
        try:
            return call()
        except Transient as error:
            trouble = error
        if attempt < max_attempts - 1:
            time.sleep(backoff_s(attempt, trouble.pause_s))
    raise JudgeFault(str(trouble))
