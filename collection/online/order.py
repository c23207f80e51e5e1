"""Which task the next group is of: every task once an epoch, in an order that a seed draws.

All that it goes by is which groups were begun, so that a pool that is started again goes on in the same order, and a
task that is added later comes in the epoch that is under way. A curriculum may pass a task over in some epochs.
"""

import heapq
from collections.abc import Callable, Iterable

from common.seeds import draw
from data.task import Task


class Order:
    """Call `take` for each group that begins."""

    def __init__(self, seed: int, begun: Iterable[tuple[str, int]] = ()):
        """`begun`: (task's id, epoch) of each group that there is."""
        self._seed = seed
        self._next_epoch: dict[str, int] = {}
        for task_id, epoch in begun:
            self._next_epoch[task_id] = max(epoch + 1, self._next_epoch.get(task_id, 0))
        self._epoch = max((epoch - 1 for epoch in self._next_epoch.values()), default=0)
        self._tasks: dict[str, Task] = {}
        self._queue: list[tuple[int, float, str]] = []

    def set_tasks(self, tasks: Iterable[Task]) -> None:
        """All there are now; those that are missing come no more."""
        self._tasks = {task.id: task for task in tasks}
        for task_id in self._tasks:
            self._next_epoch.setdefault(task_id, self._epoch)
        self._queue = [self._place(task_id) for task_id in self._tasks]
        heapq.heapify(self._queue)

    def take(self, share: Callable[[str], float] = lambda _: 1.0) -> tuple[Task, int]:
        """The next task, and its epoch. `share`, above 0: of its turns those in which a task is taken."""
        while True:
            epoch, _, task_id = self._queue[0]
            self._epoch = max(epoch, self._epoch)
            self._next_epoch[task_id] = epoch + 1
            heapq.heapreplace(self._queue, self._place(task_id))
            if draw(str(self._seed), str(epoch), task_id, "met") < share(task_id):
                return self._tasks[task_id], epoch

    def _place(self, task_id: str) -> tuple[int, float, str]:
        epoch = self._next_epoch[task_id]
        return epoch, draw(str(self._seed), str(epoch), task_id), task_id
