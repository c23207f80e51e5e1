"""The pool's tasks, which may become more while it runs."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from collection.campaign.pacing import site_of
from collection.config.commands import PoolConfig
from collection.endpoints.keys import is_loopback
from collection.judges.named import check_judged
from common.errors import UserError
from data.online_run import OnlineRun
from data.task import Task
from environments.world import World


class GrowingTasks:
    """Read again when the file has changed. What cannot be read or taken is said, and the tasks stay as they were."""

    def __init__(self, config: PoolConfig, world: World, tasks: list[Task], say: Callable[[str], None]):
        self.tasks, self._config, self._world, self._say = tasks, config, world, say
        self._path = OnlineRun(config.run_dir).tasks
        self._sites = {site_of(task) for task in tasks}
        self._mark = self._stat()

    async def read_again(self) -> bool:
        """Whether there are other tasks now."""
        if (mark := self._stat()) in (None, self._mark):
            return False
        self._mark = mark
        try:
            tasks = await self._world.tasks()
            await asyncio.to_thread(self._world.check, tasks)
            check_judged(self._config, tasks)
        except UserError as error:
            self._say(f"{error}; the pool goes on with the {len(self.tasks)} tasks it had")
            return False
        reached = [task for task in tasks if self._is_reached(task)]
        if left_out := len(tasks) - len(reached):
            self._say(
                f"{left_out} new tasks begin at websites on this machine that the pool's browsers were not opened for; "
                "start the pool again to take them"
            )
        self._say(f"{self._path}: {len(reached)} tasks, {len(self.tasks)} before")
        self.tasks = reached
        return True

    def _is_reached(self, task: Task) -> bool:
        """Browsers reach public websites, and of this machine's those that tasks began at when they were opened."""
        return site_of(task) in self._sites or not is_loopback(urlsplit(task.web).hostname)

    def _stat(self) -> Any:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
