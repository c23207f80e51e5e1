"""The tasks of MiniWoB++, each once with each seed. What one asks for stands on its page, where a browser reads it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.errors import UserError
from common.processes import served
from data.task import Task, move_sites, read_tasks, write_tasks
from environments.browser.fleet import Fleet
from environments.browser.page.settle import settle
from environments.miniwob.app import HOST, NAME, SOLVED, address, html_folder, task_names
from environments.websites import STATE_PATH, Websites, served_again

READY_TIMEOUT_S = 30.0
MAX_READERS = 4


@dataclasses.dataclass
class World(Websites):
    """Sessions share nothing: an episode belongs to a page and a session.

    Args:
        env_tasks: names such as click-test; none: all.
        env_seeds: what decides everything on a page.
        kept_tasks: a task file that keeps what was read from the pages; None: they are read again.
        test_file: tasks that were read from the pages before, in the place of these.
    """

    env_tasks: tuple[str, ...] = ()
    env_seeds: tuple[int, ...] = (0,)
    kept_tasks: Path | None = None
    test_file: Path | None = None

    def __post_init__(self) -> None:
        self._port: int | None = None

    @property
    def port(self) -> int:
        if self._port is None:
            raise UserError("what MiniWoB++'s tasks ask for stands on its pages; without serving them nobody knows")
        return self._port

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        html_folder()  # says what is missing, if so
        with served("environments.miniwob") as self._port:
            yield f"MiniWoB++ on port {self._port} until the end"

    @contextlib.contextmanager
    def serve_again(self) -> Iterator[None]:
        html_folder()
        with served_again("environments.miniwob", NAME, self.port):
            yield

    async def tasks(self) -> list[Task]:
        if self.test_file is not None:
            return move_sites(read_tasks(self.test_file), self.port)
        known = task_names()
        if unknown := set(self.env_tasks) - set(known):
            raise UserError(
                f"MiniWoB++ has no task {sorted(unknown)[0]!r}; it has {', '.join(known[:3])}, ... ({len(known)})"
            )
        wanted = [(name, seed) for name in self.env_tasks or known for seed in self.env_seeds]
        kept = read_tasks(self.kept_tasks) if self.kept_tasks is not None and self.kept_tasks.exists() else []
        tasks = {task.id: task for task in kept}
        missing = [pair for pair in wanted if _id(*pair) not in tasks]
        if missing:
            tasks |= {task.id: task for task in await self._read(missing)}
            if self.kept_tasks is not None:
                write_tasks(self.kept_tasks, sorted(tasks.values(), key=lambda task: task.id))
        return move_sites([tasks[_id(*pair)] for pair in wanted], self.port)

    @property
    def judge(self) -> str:
        return "oracle"

    async def _read(self, pairs: Sequence[tuple[str, int]]) -> list[Task]:
        left = list(reversed(pairs))
        tasks = []

        async def session(number: int, fleet: Fleet) -> None:
            async with fleet.page(number, Path()) as page:
                while left:
                    name, seed = left.pop()
                    task = Task(_id(name, seed), name, address(name, seed), web_name=f"miniwob.{name}", eval=SOLVED)
                    await page.goto(move_sites([task], self.port)[0].web)
                    await settle(page)
                    async with asyncio.timeout(READY_TIMEOUT_S):
                        while "utterance" not in (
                            state := await page.fetch_json(f"http://{HOST}:{self.port}{STATE_PATH}")
                        ):
                            await asyncio.sleep(0.1)
                    tasks.append(dataclasses.replace(task, ques=state["utterance"].strip() or name))

        num_sessions = min(MAX_READERS, len(pairs))
        async with self.browser.fleet(num_sessions) as fleet:
            await asyncio.gather(*(session(number, fleet) for number in range(num_sessions)))
        return tasks


def _id(name: str, seed: int) -> str:
    return f"miniwob.{name}--{seed}"
