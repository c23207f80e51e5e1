"""A place that serves many at once, each the slower the more there are: the cores of a node, or an inference server."""

import asyncio
import heapq
import itertools
from collections.abc import Callable


class Station:
    """Processor sharing: with n in service, each gets on by `speed(n)` units of work a second.

    All in service get on alike, so who ends next is known by the work that one has left (a heap); each arrival and each
    end costs O(log n).
    """

    def __init__(self, speed: Callable[[int], float]):
        self._speed = speed
        self._done = 0.0  # work that one in service since the begin would have got done
        self._since = 0.0
        self._ends: list[tuple[float, int, asyncio.Future]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self.busy_s = 0.0
        """Seconds so far with somebody in service."""
        self.work_done = 0.0
        """So far, of all together."""

    async def serve(self, work: float) -> None:
        """Returns when `work` units are done."""
        self._get_on()
        ended = asyncio.get_running_loop().create_future()
        heapq.heappush(self._ends, (self._done + work, next(self._numbers), ended))
        self._wait()
        await ended

    def _get_on(self) -> None:
        now, n = asyncio.get_running_loop().time(), len(self._ends)
        if n:
            self._done += self._speed(n) * (now - self._since)
            self.busy_s += now - self._since
            self.work_done += n * self._speed(n) * (now - self._since)
        self._since = now

    def _wait(self) -> None:
        """Wake up when the next one ends."""
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._ends:
            left = max(0.0, self._ends[0][0] - self._done)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(loop.time() + left / self._speed(len(self._ends)), self._end)

    def _end(self) -> None:
        self._get_on()
        self._done = max(self._done, self._ends[0][0])  # a rounding must not leave it waiting for nothing
        while self._ends and self._ends[0][0] <= self._done:
            ended = heapq.heappop(self._ends)[2]
            if not ended.done():  # who waited may have been cancelled
                ended.set_result(None)
        self._wait()
