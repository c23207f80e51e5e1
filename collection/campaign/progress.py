"""What a run shows while it runs: tasks done and their outcomes, sessions at work, steps per second."""

import contextlib
from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from collection.campaign.pacing import Pace
from common.progress import Reporter
from common.shown.terminal import printable


class CampaignProgress:
    """Use as `with`. On a terminal a line that is kept up to date, else only what is said."""

    def __init__(self, num_tasks: int, pace: Pace):
        self._pace = pace
        self._outcomes: Counter[str] = Counter()
        self._active = 0
        self._report = Reporter("tasks", num_tasks)
        columns = (
            TextColumn("tasks"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self._progress = Progress(*columns, console=Console(stderr=True, highlight=False))
        self._bar = self._progress.add_task("", total=num_tasks)

    def __enter__(self) -> "CampaignProgress":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._show()
        self._progress.stop()

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While a session takes a trajectory."""
        self._active += 1
        self._show()
        try:
            yield
        finally:
            self._active -= 1

    def task_done(self, outcome: str) -> None:
        """One task less; `outcome` is a word for the tally."""
        self._outcomes[outcome] += 1
        self._progress.advance(self._bar)
        self._show()

    def say(self, line: str) -> None:
        """A line that stays."""
        self._progress.console.print(printable(line), soft_wrap=True, markup=False)

    def _show(self) -> None:
        tally = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self._outcomes.items()))
        speed = f"{self._pace.steps_per_s():.1f} steps/s, {self._active} active"
        self._progress.update(self._bar, description=f"{speed}; {tally}" if tally else speed)
        self._report(sum(self._outcomes.values()), f"{tally}, {speed}" if tally else speed)
