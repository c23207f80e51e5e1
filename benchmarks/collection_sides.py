"""The sides of `benchmarks/collection.py`: how each is measured."""

import asyncio
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.seeds_step import SeedSession, SeedsStep
from benchmarks.usage import cpu_s, pss_mb
from common.errors import UserError
from data.actions.action import Click
from environments.browser.acting.actions import act
from environments.browser.fleet import Fleet
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle

SEEDS = {
    "owv": SeedsStep(marks=False, tree=True),
    "owv_sleeps": SeedsStep(marks=False, tree=True, pause_s=3.0),
    "pae": SeedsStep(marks=True, tree=False),
    "pae_sleeps": SeedsStep(marks=True, tree=False, pause_s=10.0),
    "pae_tree": SeedsStep(marks=True, tree=True),
    "pae_tree_sleeps": SeedsStep(marks=True, tree=True, pause_s=10.0),
}


@dataclasses.dataclass
class Row:
    """One side at one number of sessions. CPU is of clients, drivers and browsers together, without the web server."""

    side: str
    sessions: int
    steps_per_s: float
    cpu_ms_per_step: float
    mb_per_session: float
    p50_ms: float
    p95_ms: float
    failures: int
    cpu_ms_by_process: dict[str, float]


class Stopwatch:
    """Steps that begin and end within the measured time, and what they cost."""

    def __init__(self, seconds: float):
        self.begin, self.end = time.perf_counter(), time.perf_counter() + seconds
        self.latencies: list[float] = []
        self.failures = 0
        self._cpu = cpu_s()

    @property
    def runs(self) -> bool:
        return time.perf_counter() < self.end

    def count(self, since: float) -> None:
        """One step that began at `since` is done."""
        self.latencies.append(time.perf_counter() - since)

    def row(self, side: str, sessions: int) -> Row:
        """Call when the last session has stopped: the drain counts in both time and steps."""
        steps, wall = max(1, len(self.latencies)), time.perf_counter() - self.begin
        cpu_ms = {kind: 1000 * (seconds - self._cpu[kind]) / steps for kind, seconds in cpu_s().items()}
        ordered = sorted(self.latencies) or [0.0]
        p50, p95 = statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
        rate = len(self.latencies) / wall
        by_process = {kind: round(ms, 1) for kind, ms in sorted(cpu_ms.items(), key=lambda entry: -entry[1])}
        per_session, milliseconds = pss_mb().total() / sessions, (1000 * p50, 1000 * p95)
        return Row(side, sessions, rate, sum(cpu_ms.values()), per_session, *milliseconds, self.failures, by_process)


def check(names: Sequence[str]) -> None:
    """Raise UserError for a side that there is none of."""
    if unknown := set(names) - set(SEEDS) - {"ours"}:
        raise UserError(f"--sides {sorted(unknown)[0]}: known are ours, {', '.join(SEEDS)}")


def measure(names: Sequence[str], sessions: int, url: str, seconds: float) -> Iterator[Row]:
    """A row for each side; the seeds' sides share one set of browsers."""
    if "ours" in names:
        yield asyncio.run(measure_ours(sessions, url, seconds))
    if seeds := [name for name in names if name in SEEDS]:
        with seed_sessions(sessions, url) as opened:
            for name in seeds:
                yield measure_seeds(name, opened, seconds)


@contextmanager
def seed_sessions(count: int, url: str) -> Iterator[list[SeedSession]]:
    """That many of the seeds' sessions."""
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: SeedSession(url), range(count)))
        try:
            yield opened
        finally:
            list(pool.map(SeedSession.close, opened))


def measure_seeds(name: str, opened: list[SeedSession], seconds: float) -> Row:
    """Every session in a thread of its own."""
    watch = Stopwatch(seconds)

    def work(session: SeedSession) -> None:
        while watch.runs:
            begin = time.perf_counter()
            try:
                session.step(SEEDS[name])
                watch.count(begin)
            except Exception:  # whatever it is, it is counted
                watch.failures += 1

    with ThreadPoolExecutor(len(opened)) as pool:
        list(pool.map(work, opened))
    return watch.row(name, len(opened))


async def measure_ours(sessions: int, url: str, seconds: float) -> Row:
    """Our own observe, act and settle."""
    downloads = Path(tempfile.gettempdir()) / "elcano-benchmark-downloads"
    ready = asyncio.Barrier(sessions)
    watch: Stopwatch | None = None

    async def work(number: int) -> None:
        nonlocal watch
        async with fleet.page(number, downloads) as page:
            await page.goto(url)
            await settle(page)
            await our_step(page)
            await ready.wait()
            watch = watch or Stopwatch(seconds)
            while watch.runs:
                begin = time.perf_counter()
                try:
                    await our_step(page)
                    watch.count(begin)
                except Exception:
                    watch.failures += 1
            if await ready.wait() == 0:
                rows.append(watch.row("ours", sessions))  # before the pages close
            await ready.wait()

    rows: list[Row] = []
    async with Fleet(sessions, headless=True, viewport=Viewport()) as fleet:
        await asyncio.gather(*(work(number) for number in range(sessions)))
    return rows[0]


async def our_step(page: Page) -> None:
    """Observe, let the stub model find the link `Next page`, click it and settle."""
    seen = await observe(page, "released")
    label = next(label for label, node in seen.nodes.items() if node["name"]["value"] == "Next page")
    await act(page, Click(label), seen, seen.url)


def compare_observations(url: str, rounds: int) -> dict[str, Figure]:
    """Milliseconds of one observation by each side, alone on the machine, and how many times our median they take."""
    if rounds < 1:
        return {}
    times = {"ours": asyncio.run(_observe_ours(url, rounds))}
    with seed_sessions(1, url) as opened:
        for name in ("pae_tree", "owv", "pae"):
            times[name] = [_timed(lambda how=SEEDS[name]: opened[0].observe(how)) for _ in range(rounds)]
    ours = statistics.median(times["ours"])
    ratios = {f"{name}_ratio": Figure.of([one / ours for one in times[name]]) for name in times if name != "ours"}
    return {**{f"{name}_ms": Figure.of([1000 * one for one in found]) for name, found in times.items()}, **ratios}


async def _observe_ours(url: str, rounds: int) -> list[float]:
    times = []
    async with (
        Fleet(1, headless=True, viewport=Viewport()) as fleet,
        fleet.page(0, Path(tempfile.gettempdir())) as page,
    ):
        await page.goto(url)
        await settle(page)
        await observe(page, "released")
        for _ in range(rounds * 4):
            begin = time.perf_counter()
            await observe(page, "released")
            times.append(time.perf_counter() - begin)
    return times


def _timed(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
