"""The phone's tasks: each family with each seed, or those of a file that `make_tasks` wrote."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.errors import UserError
from common.processes import served
from data.task import SITES, SITES_PORT, Task, move_sites, read_tasks
from environments.touch.address import NAME
from environments.touch.chromium_screen import VIEWPORT
from environments.touch.environment import TouchEnvironment
from environments.touch.families import FAMILIES
from environments.websites import Websites, served_again


@dataclasses.dataclass
class World(Websites):
    """Sessions share nothing: each has a phone of its own, which begins as its seed has it.

    Args:
        env_tasks: names of families, such as clock-add; none: all.
        env_seeds: of the phones.
        test_file: tasks in the place of these.
        sites_port: where a phone is served already; else `serve` runs it, on port 7070 where that is free.
    """

    env_tasks: tuple[str, ...] = ()
    env_seeds: tuple[int, ...] = (0,)
    test_file: Path | None = None
    sites_port: int | None = None

    def __post_init__(self) -> None:
        self.browser = dataclasses.replace(self.browser, viewport=VIEWPORT)
        self._serves = False

    @property
    def port(self) -> int:
        return self.sites_port or SITES_PORT

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        if self.sites_port is not None:
            yield self.note
            return
        with served("environments.touch", SITES_PORT) as self.sites_port:
            self._serves = True
            yield f"the phone on port {self.sites_port} until the end"

    @contextlib.contextmanager
    def serve_again(self) -> Iterator[None]:
        with served_again("environments.touch", NAME, self.port) if self._serves else contextlib.nullcontext():
            yield

    async def tasks(self) -> list[Task]:
        return move_sites(self._tasks(), self.sites_port)

    def _tasks(self) -> Sequence[Task]:
        if self.test_file is not None:
            return read_tasks(self.test_file)
        if unknown := sorted(set(self.env_tasks) - FAMILIES.keys()):
            raise UserError(f"the phone has no tasks {unknown[0]!r}; it has {', '.join(FAMILIES)}")
        if negative := [seed for seed in self.env_seeds if seed < 0]:
            raise UserError(f"--env_seeds {negative[0]}: seeds of phones begin at 0")
        return [FAMILIES[name].task(seed) for name in self.env_tasks or FAMILIES for seed in self.env_seeds]

    @property
    def other_sites(self) -> Sequence[str]:
        return [f"{site}.localhost" for site in SITES]

    @property
    def kind(self) -> type[TouchEnvironment]:
        return TouchEnvironment

    @property
    def judge(self) -> str:
        return "oracle"
