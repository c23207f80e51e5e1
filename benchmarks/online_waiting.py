"""Tries an hour of an online run on slow websites: nobody waits (lag 2), or all wait for the trainer (lag 0), in turns.

    python -m benchmarks.online_waiting --policy runs/online/warm_start/IL/policy --tasks TASKS.jsonl --work_dir DIR

Both are the same programs with the same flags but for the lag: examples/online/recipe.py's GRPO on its own three kinds
of tasks. The clock begins with the first version that is learned, so that no start counts, and ends with a version.

The share of the cores that is busy says how much there is to gain: what idles can be filled by waiting for nothing,
what is busy only by less work a try.
"""

import contextlib
import dataclasses
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any
from urllib.parse import urlsplit

import psutil

from common import cli
from common.defaults import ROOT
from common.errors import UserError
from common.files import write_json
from common.options.limits import Checked, at_least
from common.significance import wilson
from elcano.executors.executor import Command
from elcano.executors.local import Executor
from elcano.online import OnlineRecipe, run_online

RECIPE = ROOT / "examples" / "online" / "recipe.py"
CURVE = ROOT / "examples" / "online" / "curve.py"
_LONGEST_WAIT_S = 1800.0


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Count tries by lag."""

    policy: Path
    """Hugging Face folder that all runs begin with (examples/online/warm_start.py makes it)."""
    tasks: Path
    """Task file of the embedded websites, of kinds that the policy sometimes solves."""
    work_dir: Path
    """Receives the runs."""
    delay_s: Annotated[float, at_least(0)] = 2.0
    """Of each page."""
    lags: tuple[int, ...] = (2, 0)
    """Versions that browsing may be ahead of learning."""
    versions: Annotated[int, at_least(1)] = 4
    """Of each run, after its first: tries are counted that these learned from or dropped."""
    repeats: Annotated[int, at_least(1)] = 3
    """Turns."""
    num_sessions: Annotated[int, at_least(1)] = 12
    """Browsers side by side."""
    output: Path | None = None
    """Receives the counts as JSON."""


@dataclasses.dataclass(frozen=True)
class Count:
    """What a run did in its seconds."""

    lag: int
    tries: int
    solved: int
    seconds: float
    busy: float
    """Share of the machine's cores, over all the seconds."""

    @property
    def per_hour(self) -> float:
        return 3600 * self.tries / self.seconds


def main(config: Config) -> None:
    """Print each run, the medians, and the ratio of the first lag to the last one, turn by turn."""
    counts: list[Count] = []
    with _slow_sites(config) as port:
        for turn in range(config.repeats):
            for lag in config.lags if turn % 2 == 0 else config.lags[::-1]:
                counts.append(_run(config, lag, config.work_dir / f"turn-{turn}-lag-{lag}", port))
                count = counts[-1]
                low, high = wilson(count.solved / max(1, count.tries), count.tries)
                print(
                    f"turn {turn}, lag {lag}: {count.per_hour:.0f} tries an hour, {low:.0%} to {high:.0%} solved, "
                    f"cores busy {count.busy:.0%}",
                    flush=True,
                )
    by_lag = {lag: [count.per_hour for count in counts if count.lag == lag] for lag in config.lags}
    for lag, rates in by_lag.items():
        print(f"lag {lag}: {statistics.median(rates):.0f} tries an hour ({min(rates):.0f} to {max(rates):.0f})")
    ratios = [first / last for first, last in zip(by_lag[config.lags[0]], by_lag[config.lags[-1]], strict=True)]
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    if config.output:
        write_json(config.output, [dataclasses.asdict(count) for count in counts], indent=1)


@contextlib.contextmanager
def _slow_sites(config: Config) -> Iterator[int]:
    def command(_: str, port: int) -> Command:
        words = [sys.executable, "-m", "environments.sites", "--delay_s", str(config.delay_s), "--port", str(port)]
        return Command(words, config.work_dir / "logs" / "sites.log")

    with Executor().service(command, "/health") as url:
        port = urlsplit(url).port
        assert port is not None
        yield port


def _run(config: Config, lag: int, folder: Path, port: int) -> Count:
    """One run, from nothing."""
    if folder.exists():
        raise UserError(f"{folder}: is there already; give another --work_dir")
    made = run_path(str(RECIPE))["made"]("grpo", config.policy, config.tasks, max_lag=lag)
    collection = {**made.collection, "num_sessions": config.num_sessions, "sites_port": port}
    run = get_context("spawn").Process(
        target=_run_until_told, args=(dataclasses.replace(made, collection=collection), folder)
    )
    run.start()
    try:
        _wait_for_versions(run, folder, 1)
        since = time.monotonic()
        psutil.cpu_percent()  # the next call is about what follows
        points = _wait_for_versions(run, folder, 1 + config.versions)[1:]
        seconds, busy = time.monotonic() - since, psutil.cpu_percent() / 100
        return Count(lag, sum(point.tries for point in points), sum(point.solved for point in points), seconds, busy)
    finally:
        assert run.pid is not None
        os.kill(run.pid, signal.SIGINT)
        run.join()


def _run_until_told(recipe: OnlineRecipe, folder: Path) -> None:
    """A shell's jobs in the background ignore Ctrl-C, and so would this one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        run_online(recipe, folder)


def _wait_for_versions(run: BaseProcess, folder: Path, number: int) -> Sequence[Any]:
    """`Point` of examples/online/curve.py of each."""
    since, read_points = time.monotonic(), run_path(str(CURVE))["read_points"]
    while True:
        with contextlib.suppress(UserError):  # no version was learned yet
            if len(points := read_points(folder)) >= number:
                return points[:number]
        if not run.is_alive() or time.monotonic() - since > _LONGEST_WAIT_S:
            raise UserError(f"{folder}: learned no version {number}; see {folder}/logs")
        time.sleep(0.5)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
