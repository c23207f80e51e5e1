"""A step on the phone beside a step of the browser environment: the same pages, the same machine, the same run.

    python -m benchmarks.touch --output touch.json

A step observes the screen and acts: it opens an app from the home screen, or goes back. Sessions are contexts of one
Chromium. CPU is of client and browser together, without the phone's web server.
"""

import asyncio
import dataclasses
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks import usage
from benchmarks.collection_plot import Summary, summarize
from benchmarks.collection_sides import Row, Stopwatch
from benchmarks.figures import Load, plain, watched
from common import cli
from common.files import write_json
from common.shown.tables import Table, print_table
from data.actions.action import Click, GoBack
from environments.browser.config import BrowserConfig
from environments.browser.page.page import Viewport
from environments.environment import Environment
from environments.touch.chromium_screen import VIEWPORT
from environments.touch.world import World
from environments.websites import WebsiteEnvironment

TOUCH, BROWSER = "touch", "browser"
TASK = "clock-switch"


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure steps on the phone's pages by finger and by mouse."""

    num_sessions: tuple[int, ...] = (1, 16, 64)
    """Sessions at the same time, all in one Chromium."""
    seconds: float = 20.0
    """Length of one measurement, after everybody's first two steps."""
    repeats: int = 3
    """Turns of each side at each number of sessions."""
    output: Path = Path("touch.json")
    """A JSON file for the numbers."""


class Mouse(World):
    """The same pages in a window of the same size, as any website."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.browser = dataclasses.replace(self.browser, viewport=Viewport(VIEWPORT.width, VIEWPORT.height, 1.0))

    @property
    def kind(self) -> type[WebsiteEnvironment]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return WebsiteEnvironment


SIDES: dict[str, type[World]] = {BROWSER: Mouse, TOUCH: World}


def main(config: Config) -> None:
    """Measure, print, write."""
    serving = World()
    with serving.serve(), watched(config.repeats) as load:
        usage.ignored.update(child.pid for child in psutil.Process().children(recursive=True))
        port = serving.port
        rows: list[Summary] = []
        for sessions in config.num_sessions:
            turns = [list(_turn(sessions, port, config.seconds)) for _ in range(config.repeats)]
            rows += summarize(turns)
    _print(rows, load)
    write_json(config.output, {"load": dataclasses.asdict(load), "rows": plain([dataclasses.asdict(r) for r in rows])})


def _turn(sessions: int, port: int, seconds: float) -> Iterator[Row]:
    for name, world in SIDES.items():
        print(f"{sessions} sessions, {name}", flush=True)
        yield asyncio.run(measure(name, world, sessions, port, seconds))


async def measure(name: str, kind: type[World], sessions: int, port: int, seconds: float) -> Row:
    """One side, with so many sessions."""
    world = kind(browser=BrowserConfig(num_browsers=1), env_tasks=(TASK,), sites_port=port)
    [task] = await world.tasks()
    ready, rows = asyncio.Barrier(sessions), list[Row]()
    watch: Stopwatch | None = None

    async def work(number: int) -> None:
        nonlocal watch
        async with await open_environment(number, Path(tempfile.gettempdir())) as environment:
            await environment.reset(task)
            for place in range(2):
                await _step(environment, place)
            await ready.wait()
            watch = watch or Stopwatch(seconds)
            place = 0
            while watch.runs:
                begin = time.perf_counter()
                try:
                    await _step(environment, place)
                    watch.count(begin)
                except Exception:  # whatever it is, it is counted
                    watch.failures += 1
                place += 1
            if await ready.wait() == 0:
                rows.append(watch.row(name, sessions))  # before the pages close
            await ready.wait()

    async with world.environments([task], sessions) as open_environment:
        await asyncio.gather(*(work(number) for number in range(sessions)))
    return rows[0]


async def _step(environment: Environment, place: int) -> None:
    """In turn: open the next app of the home screen, go back."""
    seen = await environment.observe()
    if place % 2:
        await environment.act(GoBack())
        return
    apps = [label for label, node in seen.nodes.items() if node["role"]["value"] == "link"]
    await environment.act(Click(apps[place // 2 % len(apps)]))


def _print(rows: list[Summary], load: Load) -> None:
    figures = ("sessions", "steps/s", "CPU ms/step", "MB/session", "p50 ms", "p95 ms", "failures")
    table = Table(["side"], figures)
    for row in rows:
        said = (row.steps_per_s, row.cpu_ms_per_step, row.mb_per_session, row.p50_ms, row.p95_ms)
        table.add(row.side, str(row.sessions), *map(str, said), str(row.failures))
    print_table(table)
    for row in rows:
        print(f"{row.side}, {row.sessions} sessions, CPU ms/step of the last repeat: {row.cpu_ms_by_process}")
    print(load)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
