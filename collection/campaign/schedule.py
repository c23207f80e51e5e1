"""Which task begins next: in order, but no website gets more sessions than it may, and no task spoils another.

Tasks are queued by website. A website at its limit, or whose next task must be alone on a shared backend, holds up only
its own tasks. A task that another collector works on is passed over, and looked at again when nothing else is left.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from collection.campaign.lease import Leases
from collection.campaign.pacing import site_of
from data.task import Task

POLL_S = 1.0  # how soon it is noticed that another collector finished a task, or died


@dataclass
class Schedule:
    """Use `take` or `pick`, and `done`, in pairs. `most_per_site`: sessions on one website at the same time, 0 for any
    number."""

    tasks: Sequence[Task]
    leases: Leases
    most_per_site: int = 0
    _queues: dict[str, deque[tuple[int, Task]]] = field(default_factory=dict, init=False)
    _busy: Counter[str] = field(default_factory=Counter, init=False)
    _changing: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._next_number = 0
        self._changed = asyncio.Condition()
        for task in self.tasks:
            self.put(task)

    async def take(self) -> Task | None:
        """The next task that may begin; waits for one, and returns None when all are done: one that was begun may come
        back."""
        async with self._changed:
            while not self._is_finished():
                if task := self.pick():
                    return task
                try:
                    async with asyncio.timeout(POLL_S):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        return None

    def put(self, task: Task) -> None:
        """One more, which comes after the others of its website."""
        self._queues.setdefault(_group(task), deque()).append((self._next_number, task))
        self._next_number += 1

    def pick(self) -> Task | None:
        """The first task in order among those that may begin now, without waiting for any."""
        for group in sorted(self._queues, key=lambda name: self._queues[name][0][0]):
            if task := self._pick_from(group):
                return task
        return None

    async def finished(self) -> None:
        """Return when all are done."""
        async with self._changed:
            await self._changed.wait_for(self._is_finished)

    async def done(self, task: Task, again: bool = False) -> None:
        """It ended; `again` puts it at the end of its queue."""
        async with self._changed:
            group = _group(task)
            self._busy[group] -= 1
            self._changing.discard(group)
            if task.backend and not self._busy[group]:
                self.leases.give_back(_backend_key(group))
            self.leases.give_back(task.id)
            if again:
                self.put(task)
            self._changed.notify_all()

    def _is_finished(self) -> bool:
        return not self._queues and not self._busy.total()

    def _pick_from(self, group: str) -> Task | None:
        queue = self._queues[group]
        if (self.most_per_site and self._busy[group] >= self.most_per_site) or group in self._changing:
            return None
        for place, (_, task) in enumerate(queue):
            if task.changes_backend and self._busy[group]:
                return None  # it must wait until it is alone, and nobody overtakes it
            if task.backend and not self.leases.take(_backend_key(group), shared=not task.changes_backend):
                return None
            if self.leases.take(task.id):
                del queue[place]
                break
        else:
            return None
        if not queue:
            del self._queues[group]
        self._busy[group] += 1
        if task.changes_backend:
            self._changing.add(group)
        return task


def _group(task: Task) -> str:
    return task.backend or site_of(task)


def _backend_key(backend: str) -> str:
    return f"backend/{backend}"  # no task's id holds a slash
