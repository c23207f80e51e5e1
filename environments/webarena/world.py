"""WebArena and WebArena-Lite: the tasks of one of their configuration files, on websites that the user runs.

    SHOPPING=http://10.0.0.5:7770 python collection/run.py --env webarena --test_file test.raw.json \\
        --reset_command "bash reset.sh" --headless --api_localhost http://127.0.0.1:8080/predict
"""

import dataclasses
from pathlib import Path

from common.errors import UserError
from data.task import Task
from environments.webarena.addresses import addresses_from_environment
from environments.webarena.tasks import read_configurations, to_tasks
from environments.websites import Websites


@dataclasses.dataclass
class World(Websites):
    """Sites that some task uses together are one backend; a task that changes it runs alone there, and `reset_command`
    runs after it."""

    test_file: Path | None = None

    async def tasks(self) -> list[Task]:
        if self.test_file is None:
            raise UserError("--test_file is missing: one of WebArena's configuration files, such as test.raw.json")
        return to_tasks(read_configurations(self.test_file, addresses_from_environment()))
