"""Tasks on Android devices: those of a file, such as DigiRL's task sets.

    python collection/run.py --env android --test_file general_test.txt --max_iter 20 --devices emulator-5554 \\
        --judge digirl --api_eval_model MODEL
"""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from common.errors import UserError
from data.task import Task, read_tasks
from environments import world
from environments.android.config import DeviceConfig
from environments.android.devices import opened_devices
from environments.android.environment import AndroidEnvironment
from environments.android.task_sets import read_task_set
from environments.environment import Environment, Open


@dataclasses.dataclass
class World(world.World):
    """Sessions share devices one after another; each episode begins with the snapshot, or without the apps' data.

    Args:
        test_file: tasks as JSON lines, or a task set of DigiRL's (`.txt`).
    """

    test_file: Path | None = None
    device: DeviceConfig = dataclasses.field(default_factory=DeviceConfig)

    async def tasks(self) -> list[Task]:
        if self.test_file is None:
            raise UserError("--env android has no tasks of its own; give --test_file, such as general_test.txt")
        return read_task_set(self.test_file) if self.test_file.suffix == ".txt" else read_tasks(self.test_file)

    @contextlib.asynccontextmanager
    async def environments(self, tasks: Sequence[Task], num_sessions: int) -> AsyncIterator[Open]:
        async with opened_devices(self.device, num_sessions) as devices:

            async def open_environment(session: int, downloads: Path) -> Environment:
                return AndroidEnvironment(await devices.take(), self.device.tree)

            yield open_environment
