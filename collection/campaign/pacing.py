"""What happens to a page between two actions: while the model thinks, others use the machine, and websites are spared.

A session holds a seat while its page loads, acts or is observed, and gives it up while its model thinks, so that
hundreds of sessions share a few cores and none misses a deadline because all want to act at once.
"""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from collection.agent.policy import Completion, Policy
from data.conversation import StepText
from data.task import Task
from environments.environment import Environment

STEPS_WINDOW_S = 60.0


def site_of(task: Task) -> str:
    """The website that limits apply to: host and port of the start page."""
    return urlsplit(task.web).netloc.rpartition("@")[2].lower()


@dataclass
class Pace:
    """Shared by all sessions of a run.

    Args:
        seats: pages that may be busy at the same time.
        interval_s: least seconds between two actions on one website, over all sessions.
        freeze: stop a page's scripts and timers while the model thinks.
    """

    seats: int
    interval_s: float = 0.0
    freeze: bool = False
    num_steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._seats = asyncio.Semaphore(self.seats)
        self._next_turn: defaultdict[str, float] = defaultdict(float)
        self._recent: list[float] = []

    @contextlib.asynccontextmanager
    async def seat(self) -> AsyncIterator[None]:
        """Held while a page is busy; `PacedPolicy` gives it up in between."""
        async with self._seats:
            yield

    @contextlib.asynccontextmanager
    async def thinking(self, environment: Environment) -> AsyncIterator[None]:
        """Give up the seat, with the environment at rest, and take one again, also for a policy's fault.

        When the run is cancelled, hundreds of sessions must not queue for seats to end; `seat` then frees one too many.
        """
        if self.freeze:
            await environment.freeze(True)
        self._seats.release()
        try:
            yield
        except asyncio.CancelledError:
            raise
        except BaseException:
            await self._back_to(environment)
            raise
        await self._back_to(environment)

    async def _back_to(self, environment: Environment) -> None:
        await self._seats.acquire()
        if self.freeze:
            await environment.freeze(False)

    async def turn(self, site: str) -> None:
        """Wait until the website may be asked for something again."""
        if self.interval_s <= 0:
            return
        now = asyncio.get_running_loop().time()
        mine = max(now, self._next_turn[site])
        self._next_turn[site] = mine + self.interval_s
        await asyncio.sleep(mine - now)

    def count_step(self) -> None:
        """One more step was taken."""
        self.num_steps += 1
        self._recent.append(time.monotonic())

    def steps_per_s(self) -> float:
        """Over the last minute."""
        now = time.monotonic()
        self._recent = [moment for moment in self._recent if moment > now - STEPS_WINDOW_S]
        return len(self._recent) / max(1.0, now - self._recent[0]) if self._recent else 0.0


class PacedPolicy:
    """A policy as one session asks it: everything `Pace` says happens around the reply."""

    def __init__(self, inner: Policy, environment: Environment, pace: Pace):
        self._inner, self._environment, self._pace = inner, environment, pace
        self.name, self.system_prompt = inner.name, inner.system_prompt

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        async with self._pace.thinking(self._environment):
            completion = await self._inner.reply(task, folder, steps, screenshots, seed)
            await self._pace.turn(site_of(task))
        self._pace.count_step()
        return completion

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
