"""What trajectories tell of time.

A trajectory's screenshot is written when its step's request goes out, so its file's time and `timings_s` together say
when everything happened.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json, read_json, read_lines
from data.trajectory import INVALID, list_trajectories, read_outcome

_COARSE_S = 2.0
"""File systems round times, by up to 2 s."""
_MOST_SHORT = 0.05
"""Of trajectories that seem shorter than their steps: a clock was set back meanwhile."""
_CLOCKS_S = 60.0
"""By so much clocks of two machines may differ."""


@dataclasses.dataclass(frozen=True)
class StepTimes:
    """Seconds of a step's parts, and when (seconds since 1970) its request went out."""

    observe_s: float
    reply_s: float
    act_s: float
    asked_at: float


@dataclasses.dataclass(frozen=True)
class Episode:
    """A trajectory's times; `web` is where it began, `num_bytes` the size of its folder."""

    web: str
    open_s: float
    steps: tuple[StepTimes, ...]
    ended_at: float
    success: bool
    num_bytes: int

    @property
    def began_at(self) -> float:
        """When its page began to load, seconds since 1970."""
        first = self.steps[0]
        return first.asked_at - first.observe_s - self.open_s


def read_episodes(folder: Path, finished_at: float) -> tuple[Episode, ...]:
    """Those of a stage that ended then (seconds since 1970), but what ended by a fault, by their begin.

    Raises:
        UserError: a file is damaged, or the files' times are not those of when they were written.
    """
    read = (_read(trajectory) for trajectory in list_trajectories(folder))
    episodes = sorted(filter(None, read), key=lambda episode: episode.began_at)
    if episodes:
        _check_times(folder, episodes, finished_at)
    return tuple(episodes)


def span_s(episodes: Sequence[Episode]) -> float:
    """Seconds from the first's begin to the last's end."""
    return max(episode.ended_at for episode in episodes) - min(episode.began_at for episode in episodes)


@contextlib.contextmanager
def intact(path: Path) -> Iterator[None]:
    """`UserError` that names the file where the block finds something else than a run leaves there."""
    try:
        yield
    except UserError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OSError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise UserError(f"--measured: {path} is not as a run leaves it ({what}); copy the run again") from None


def _check_times(folder: Path, episodes: Sequence[Episode], finished_at: float) -> None:
    """`UserError` where times cannot be those of when files were written: as a copy has them."""
    is_later = min(episode.ended_at for episode in episodes) > finished_at + _CLOCKS_S
    num_short = sum(episode.ended_at - episode.began_at + _COARSE_S < _spent_s(episode) for episode in episodes)
    if is_later or num_short > _MOST_SHORT * len(episodes):
        raise UserError(
            f"--measured: in {folder} the files' times, which say when steps were taken, were lost; "
            f"copy the run again with cp -a or rsync -a"
        )


def _spent_s(episode: Episode) -> float:
    """What the collector counted itself."""
    return episode.open_s + sum(step.observe_s + step.reply_s + step.act_s for step in episode.steps)


def _read(trajectory: Path) -> Episode | None:
    """None: it is not complete, ended by a fault or has no step."""
    entries = {entry.name: entry.stat() for entry in os.scandir(trajectory)}
    if "trajectory.json" not in entries:
        return None
    with intact(trajectory / "trajectory.json"):
        summary = read_json(trajectory / "trajectory.json")
        status, web = summary["status"], summary["task"]["web"]
    if status == INVALID:
        return None
    with intact(trajectory / "steps.jsonl"):
        lines = [parse_json(line) for line in read_lines(trajectory / "steps.jsonl")]
        steps = tuple(_step(line, entries) for line in lines)
        open_s = float(lines[0]["timings_s"].get("open_s", 0.0)) if lines else 0.0
    if not steps:
        return None
    outcome, num_bytes = read_outcome(trajectory), sum(entry.st_size for entry in entries.values())
    ended_at, is_success = entries["trajectory.json"].st_mtime, outcome is not None and outcome.success
    return Episode(web, open_s, steps, ended_at, is_success, num_bytes)


def _step(line: dict[str, Any], entries: dict[str, os.stat_result]) -> StepTimes:
    spent = (float(line["timings_s"][name]) for name in ("observe_s", "policy_s", "act_s"))
    return StepTimes(*spent, entries[f"screenshot{line['number']}.png"].st_mtime)
