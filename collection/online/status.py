"""What a pool tells of itself: a line every few seconds, and the same as JSON in `<run>/state/pool.json`."""

import contextlib
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.files import write_json
from common.shown.terminal import printable

_WINDOW_S = 600.0
_QUIET_S = 60.0
"""Where nothing has changed, a line so often."""


class PoolStatus:
    """Counts what happens."""

    def __init__(self, path: Path):
        self._path = path
        self._began = time.monotonic()
        self._rollouts: deque[float] = deque()
        self._waited_s = 0.0
        self._said: tuple[float, list[Any]] = (0.0, [])
        self.ages: Counter[int] = Counter()
        self.rewards: Counter[str] = Counter()

    def rollout(self, reward: float | None) -> None:
        """One more was settled."""
        self._rollouts.append(time.monotonic())
        self.rewards["none" if reward is None else "solved" if reward > 0 else "failed"] += 1

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """While a session has nothing to do because the trainer has enough."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self._waited_s += time.monotonic() - begin

    def per_hour(self) -> float:
        """Rollouts an hour, over the last ten minutes."""
        now = time.monotonic()
        while self._rollouts and self._rollouts[0] < now - _WINDOW_S:
            self._rollouts.popleft()
        return 3600 * len(self._rollouts) / max(1.0, min(_WINDOW_S, now - self._began))

    def tell(self, num_sessions: int, **facts: Any) -> None:
        """The file, and the line where there is news. `facts` are numbers by name."""
        now, news = time.monotonic(), [facts["version"], facts["running"], facts["complete"], facts["dropped"]]
        lived_s = num_sessions * (time.monotonic() - self._began)
        facts |= {
            "worst_age": max(self.ages, default=0),
            "trajectories_per_hour": round(self.per_hour()),
            "share_waiting": round(self._waited_s / lived_s, 3) if lived_s else 0.0,
        }
        more = {"ages": dict(sorted(self.ages.items())), "rollouts": dict(self.rewards), "told_at": time.time()}
        write_json(self._path, {**facts, **more}, flush=False)
        if news == self._said[1] and now - self._said[0] < _QUIET_S:
            return
        self._said = now, news
        self.say(
            f"version {facts['version']}; groups: {facts['running']} running, {facts['complete']} complete, "
            f"{facts['learned']} learned, {facts['dropped']} dropped; worst lag {facts['worst_age']}; "
            f"{facts['trajectories_per_hour']} trajectories/h, {facts['steps_per_s']:.1f} steps/s, "
            f"waited for the trainer {facts['share_waiting']:.0%}"
        )

    def say(self, line: str) -> None:
        """To standard error."""
        print(printable(line), file=sys.stderr, flush=True)
