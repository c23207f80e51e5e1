"""CPU and memory of this process and everything it started."""

import contextlib
from pathlib import Path

import psutil


def processes(without: tuple[int, ...] = ()) -> list[psutil.Process]:
    """This process and its descendants, less those with the ids in `without`."""
    me = psutil.Process()
    return [process for process in (me, *me.children(recursive=True)) if process.pid not in without]


def cpu_s(without: tuple[int, ...] = ()) -> float:
    """Seconds of CPU so far; a process that ended meanwhile takes its own with it."""
    total = 0.0
    for process in processes(without):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def pss_mb(without: tuple[int, ...] = ()) -> float:
    """Memory in MB, what is shared divided among those that share it."""
    total = 0
    for process in processes(without):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024
