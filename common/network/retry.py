"""Ask again what may pass, with pauses that grow: for every endpoint that is asked over HTTP.

Whoever asks waits for answers for two and a half of its time-outs at most, however often the endpoint fails and however
late, and for pauses of up to a minute each.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

Result = TypeVar("Result")

MAX_ATTEMPTS = 6
FIRST_PAUSE_S = 0.5  # doubled at each further attempt
LONGEST_PAUSE_S = 60.0
_ENOUGH = 1.5
"""No further attempt once the earlier ones took so many time-outs: one that had its whole time is asked again once."""


class TransientError(Exception):
    """A failure that may pass; not tried again before `pause_s`."""

    def __init__(self, message: str, pause_s: float = 0.0):
        super().__init__(message)
        self.pause_s = pause_s


def retry(call: Callable[[], Result], timeout_s: float, max_attempts: int = MAX_ATTEMPTS) -> Result:
    """The result of `call`, each attempt of which ends within `timeout_s`; the last `TransientError` when each raised
    one, or they took too long together."""
    patience = _Patience(timeout_s, max_attempts, time.monotonic)
    while True:
        try:
            return call()
        except TransientError as error:
            time.sleep(patience.pause_s(error))
        patience.begin()


async def retry_async(
    call: Callable[[], Awaitable[Result]], timeout_s: float, max_attempts: int = MAX_ATTEMPTS
) -> Result:
    """As `retry`, for a coroutine function."""
    patience = _Patience(timeout_s, max_attempts, asyncio.get_running_loop().time)
    while True:
        try:
            return await call()
        except TransientError as error:
            await asyncio.sleep(patience.pause_s(error))
        patience.begin()


def retry_after_s(headers: Mapping[str, str], default: float = 0.0) -> float:
    """Seconds that a server asks to wait, a minute at most; `default` when it does not say."""
    try:
        return min(LONGEST_PAUSE_S, float(headers.get("retry-after", default)))
    except ValueError:
        return default


class _Patience:
    """With an endpoint that fails."""

    def __init__(self, timeout_s: float, max_attempts: int, clock: Callable[[], float]):
        self._clock = clock
        self._timeout_s, self._left_s = timeout_s, _ENOUGH * timeout_s
        self._num_left, self._num_failed = max_attempts, 0
        self.begin()

    def begin(self) -> None:
        """An attempt begins."""
        self._began = self._clock()

    def pause_s(self, error: TransientError) -> float:
        """How long to wait before the next attempt, spread, so that many who ask don't return at once. Raises the error
        unless there is one."""
        self._left_s -= min(self._timeout_s, self._clock() - self._began)  # a busy machine adds to it
        self._num_left -= 1
        if self._num_left <= 0 or self._left_s < 0:
            raise error
        grown_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._num_failed)
        self._num_failed += 1
        return max(error.pause_s, grown_s * random.uniform(0.75, 1.25))
