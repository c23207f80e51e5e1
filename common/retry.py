"""Ask again what may pass, with pauses that grow: for every endpoint that is asked over HTTP."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

Result = TypeVar("Result")

MAX_ATTEMPTS = 6
FIRST_PAUSE_S = 0.5  # doubled at each further attempt
LONGEST_PAUSE_S = 60.0


class TransientError(Exception):
    """A failure that may pass; not tried again before `pause_s`."""

    def __init__(self, message: str, pause_s: float = 0.0):
        super().__init__(message)
        self.pause_s = pause_s


class TimedOutError(TransientError):
    """A failure that took the whole time there was; not waited for more than twice."""


def retry(call: Callable[[int], Result], max_attempts: int = MAX_ATTEMPTS) -> Result:
    """The result of `call(attempt)`, `attempt` from 0 on; its last `TransientError` when each attempt raised one, or
    two took their whole time."""
    patience = _Patience()
    for attempt in range(max_attempts - 1):
        try:
            return call(attempt)
        except TransientError as error:
            patience.spend(error)
            time.sleep(_pause_s(attempt, error))
    return call(max_attempts - 1)


async def retry_async(call: Callable[[], Awaitable[Result]], max_attempts: int = MAX_ATTEMPTS) -> Result:
    """As `retry`, for a coroutine function."""
    patience = _Patience()
    for attempt in range(max_attempts - 1):
        try:
            return await call()
        except TransientError as error:
            patience.spend(error)
            await asyncio.sleep(_pause_s(attempt, error))
    return await call()


def retry_after_s(headers: Mapping[str, str], default: float = 0.0) -> float:
    """Seconds that a server asks to wait, a minute at most; `default` when it does not say."""
    try:
        return min(LONGEST_PAUSE_S, float(headers.get("retry-after", default)))
    except ValueError:
        return default


class _Patience:
    """With an endpoint that lets its time run out."""

    def __init__(self) -> None:
        self._num_timed_out = 0

    def spend(self, error: TransientError) -> None:
        """Raise the error unless it may be asked again."""
        self._num_timed_out += isinstance(error, TimedOutError)
        if self._num_timed_out == 2:
            raise error


def _pause_s(attempt: int, error: TransientError) -> float:
    """Spread, so that many who ask don't return at once."""
    return max(error.pause_s, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt) * random.uniform(0.75, 1.25))
