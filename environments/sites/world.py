"""Tasks of a file, or else the embedded tasks with their websites."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from common.defaults import TEST_TASKS, short
from common.processes import served
from data.task import SITES, SITES_PORT, Task, move_sites, read_tasks
from environments.websites import Websites, served_again


@dataclasses.dataclass
class World(Websites):
    """Sessions on the embedded sites begin with a fresh state each.

    Args:
        test_file: tasks on any websites; None: those of `embedded_tasks`, whose websites are served.
        sites_port: where the embedded websites run already. Else, and on port 7070 where that is free, since addresses
            stand in prompts and a run should repeat, `serve` runs them.
    """

    test_file: Path | None = None
    embedded_tasks: Path = TEST_TASKS
    sites_port: int | None = None

    def __post_init__(self) -> None:
        self._serves = False

    @property
    def port(self) -> int:
        return self.sites_port or SITES_PORT

    @property
    def note(self) -> str:
        if self.test_file is not None:
            return ""
        number, name = len(read_tasks(self.embedded_tasks)), short(self.embedded_tasks)
        return f"no --test_file: the {number} embedded tasks of {name} with their ground truth"

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        if self.test_file is not None or self.sites_port is not None:
            yield self.note
            return
        with served("environments.sites", SITES_PORT) as self.sites_port:
            self._serves = True
            yield f"{self.note}; their websites on port {self.sites_port} until the end"

    @contextlib.contextmanager
    def serve_again(self) -> Iterator[None]:
        with served_again("environments.sites", SITES[0], self.port) if self._serves else contextlib.nullcontext():
            yield

    async def tasks(self) -> list[Task]:
        return move_sites(read_tasks(self.test_file or self.embedded_tasks), self.sites_port)

    @property
    def judge(self) -> str:
        return "oracle" if self.test_file is None else "none"
