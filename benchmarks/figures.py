"""How benchmarks write what they measured: medians of repeats with their range, and how busy the machine was.

Speeds and times are measured in repeats that take turns with their baseline's; a ratio is taken repeat by repeat. In
JSON a figure is {"median", "lowest", "highest"}, and the run's `Load` stands beside its figures. A count that nothing
disturbs (bytes, replies that agree) is no `Figure`.
"""

import contextlib
import dataclasses
import math
import os
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

from benchmarks import usage


@dataclasses.dataclass(frozen=True)
class Figure:
    """Of some repeats."""

    median: float
    lowest: float
    highest: float

    @staticmethod
    def of(values: Sequence[float]) -> "Figure":
        return Figure(statistics.median(values), min(values), max(values))

    @staticmethod
    def times(values: Sequence[float], baseline: Sequence[float]) -> "Figure":
        """How many times the baseline, repeat by repeat."""
        return Figure.of([one / other for one, other in zip(values, baseline, strict=True)])

    def __str__(self) -> str:
        return f"{_digits(self.median)} ({_digits(self.lowest)} to {_digits(self.highest)})"


def plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As JSON."""
    return [
        {name: dataclasses.asdict(one) if isinstance(one, Figure) else one for name, one in row.items()} for row in rows
    ]


def _digits(value: float) -> str:
    """Three that count."""
    places = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{places}f}"


@dataclasses.dataclass
class Load:
    """What else the machine did. `others` is how many of its `cores` were busy on average with what the benchmark did
    not start; load averages of the last minute are those of the system, the benchmark's own work included."""

    repeats: int
    cores: int = dataclasses.field(default_factory=lambda: len(os.sched_getaffinity(0)))
    load_before: float = dataclasses.field(default_factory=lambda: round(os.getloadavg()[0], 2))
    load_after: float = 0.0
    others: float = 0.0
    minutes: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.repeats} repeats in {self.minutes:.0f} min on {self.cores} cores, of which other work took "
            f"{self.others:.2f}; load average {self.load_before:.2f} before, {self.load_after:.2f} after"
        )


@contextlib.contextmanager
def watched(repeats: int) -> Iterator[Load]:
    """The load while the block runs, complete when it has ended."""
    load = Load(repeats)
    began, busy, own = time.monotonic(), _busy_s(), _own_s()
    yield load
    wall = time.monotonic() - began
    load.others = round(max(0.0, (_busy_s() - busy - (_own_s() - own)) / wall), 2)
    load.load_after, load.minutes = round(os.getloadavg()[0], 2), round(wall / 60, 1)


def _busy_s() -> float:
    """Seconds that all cores together have worked, or waited for another machine on the same host."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    return sum(times) - idle - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)


def _own_s() -> float:
    """Of this process, of what it has started, and of those among them that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.cpu_s().total() + ended.ru_utime + ended.ru_stime
