"""What a run says: lines that stay, and one below them that is kept up to date on a terminal."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console

from common.progress import Progress

console = Console(highlight=False)
_QUIET_S = 60.0
"""Where there is no terminal, such as in a log, a line so often."""

Show = Callable[[Mapping[str, Progress | None]], None]
"""Takes the newest progress of each command under way, by its name."""


@contextlib.contextmanager
def live_line() -> Iterator[Show]:
    """Call what it yields as often as there may be news."""
    if console.is_terminal:
        with console.status("") as status:
            yield lambda found: status.update(f"  {_lines(found) or 'starting'}")
        return
    said_at = time.monotonic()

    def say(found: Mapping[str, Progress | None]) -> None:
        nonlocal said_at
        if time.monotonic() - said_at > _QUIET_S and (said := _lines(found)):
            said_at = time.monotonic()
            console.print(f"  {said}", soft_wrap=True, markup=False)

    yield say


def _lines(found: Mapping[str, Progress | None]) -> str:
    """What each has reported, with its name where there are several."""
    told = {name: line(progress, time.time()) for name, progress in found.items() if progress}
    return "; ".join(f"{name}: {said}" if len(found) > 1 else said for name, said in told.items())


def line(progress: Progress, now: float) -> str:
    """`12/40 tasks, 7 success, 3.1 steps/s, 2 min left`."""
    left_s = progress.left_s(now)
    left = "" if left_s is None or progress.done == progress.total else f"{duration(left_s)} left"
    return ", ".join(filter(None, [f"{progress.done}/{progress.total} {progress.unit}", progress.facts, left]))


def duration(seconds: float) -> str:
    """Such as `12 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
