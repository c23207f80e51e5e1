"""CPU and memory of this process and everything it started, less what a benchmark serves its pages with."""

import contextlib
from collections import Counter
from pathlib import Path

import psutil

ignored: set[int] = set()  # ids of processes that belong to no side


def processes() -> list[psutil.Process]:
    """This process and its descendants."""
    me = psutil.Process()
    return [process for process in (me, *me.children(recursive=True)) if process.pid not in ignored]


def cpu_s() -> Counter[str]:
    """Seconds of CPU so far by kind of process; one that ended meanwhile takes its own with it."""
    seconds: Counter[str] = Counter()
    for process in processes():
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            seconds[_kind(process)] += times.user + times.system
    return seconds


def _kind(process: psutil.Process) -> str:
    """`client`, `driver`, `browser` for Chromium's own, or what it calls the others, such as `renderer`."""
    name = process.name()
    if name.startswith("chromedriver"):
        return "driver"
    if not name.startswith("chrom"):
        return "client"
    types = (word.removeprefix("--type=") for word in process.cmdline() if word.startswith("--type="))
    return next(types, "browser")


def pss_mb() -> float:
    """Memory in MB, what is shared divided among those that share it."""
    total = 0
    for process in processes():
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024
