"""What a command knows of its own progress, for whoever started it: a small JSON file that it keeps up to date.

The file's path stands in the variable `ELCANO_PROGRESS`; a command that was started without it writes nothing.
"""

import dataclasses
import json
import os
import time
from pathlib import Path

from common.files import parse_json, write_atomic

VARIABLE = "ELCANO_PROGRESS"
_EVERY_S = 0.5


@dataclasses.dataclass(frozen=True)
class Progress:
    """`done` of `total` units so far, begun at `begun_at` with `before` of them done; `facts` is what else to say."""

    unit: str
    done: int
    total: int
    facts: str
    before: int
    begun_at: float

    def left_s(self, now: float) -> float | None:
        """Seconds left at the speed so far; None before the first unit."""
        advanced = self.done - self.before
        return (now - self.begun_at) / advanced * (self.total - self.done) if advanced > 0 else None


class Reporter:
    """Call it as often as there is news; it writes twice a second at most, and the last unit always."""

    def __init__(self, unit: str, total: int, before: int = 0) -> None:
        self._path = os.environ.get(VARIABLE)
        self._progress = Progress(unit, before, total, "", before, time.time())
        self._written_at = 0.0

    def __call__(self, done: int, facts: str = "") -> None:
        """`done` units are done."""
        self._progress = dataclasses.replace(self._progress, done=done, facts=facts)
        now = time.monotonic()
        if self._path and (now - self._written_at > _EVERY_S or done == self._progress.total):
            self._written_at = now
            write_atomic(Path(self._path), json.dumps(dataclasses.asdict(self._progress)))


def read(path: Path) -> Progress | None:
    """None where nothing was reported yet."""
    try:
        return Progress(**parse_json(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
