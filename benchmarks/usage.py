"""CPU and memory of a process and everything it started, less what a benchmark serves its pages with."""

import contextlib
from collections import Counter
from pathlib import Path

import psutil

ignored: set[int] = set()  # ids of processes that belong to no side


def processes(pid: int | None = None) -> list[psutil.Process]:
    """The process of this id, by default this one, and its descendants; none where it has ended."""
    try:
        root = psutil.Process(pid)
        return [process for process in (root, *root.children(recursive=True)) if process.pid not in ignored]
    except psutil.Error:
        return []


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


def pss_mb(pid: int | None = None) -> Counter[str]:
    """Memory in MB by kind of process, what is shared divided among those that share it."""
    found: Counter[str] = Counter()
    for process in processes(pid):
        with contextlib.suppress(OSError, StopIteration, psutil.Error):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            found[_kind(process)] += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return found
