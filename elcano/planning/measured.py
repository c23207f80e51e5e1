"""What a run's folder tells of time: seconds of stages, of each step of each trajectory, of training's steps.

A trajectory's screenshot is written when its step's request goes out, so its file's time and `timings_s` together say
when everything happened.
"""

import dataclasses
import functools
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json, read_json, read_lines
from data.trajectory import INVALID, list_trajectories, read_outcome
from elcano.folders import describe_folder, is_run
from elcano.stage import Logbook

FOLDERS = {"explore": "trajectories", "test": "test"}
_QUIET_S = 5.0  # without a trajectory under way: the collector had stopped, and was started again later
_COARSE_S = 2.0
"""File systems round times, by up to 2 s."""
_MOST_SHORT = 0.05
"""Of trajectories that seem shorter than their steps: a clock was set back meanwhile."""
_CLOCKS_S = 60.0
"""By so much clocks of two machines may differ."""
_ITERATION = re.compile(r" iteration (\d+)/\d+ \|.*\| ([\d.]+) s \(")


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


@dataclasses.dataclass(frozen=True)
class Browsing:
    """A stage that browsed: its trajectories but those that ended by a fault, by their end."""

    name: str
    agent: str
    """`teacher` or `policy`."""
    seconds: float
    """As the run counted it: its last attempt, with what starts before the first page."""
    num_tasks: int
    episodes: tuple[Episode, ...]

    @functools.cached_property
    def attempts(self) -> list[list[Episode]]:
        """The trajectories of each start of the collector; one that was interrupted had several."""
        found, quiet_from = [[self.episodes[0]]], self.episodes[0].ended_at
        for episode in sorted(self.episodes[1:], key=lambda episode: episode.began_at):
            if episode.began_at - quiet_from > _QUIET_S:
                found.append([])
            found[-1].append(episode)
            quiet_from = max(quiet_from, episode.ended_at)
        return found

    @property
    def num_steps(self) -> int:
        return sum(len(episode.steps) for episode in self.episodes)

    @property
    def active_s(self) -> float:
        """From the first page to the last trajectory's end, over all attempts."""
        return sum(map(span_s, self.attempts))


@dataclasses.dataclass(frozen=True)
class Training:
    """A round's training: optimizer steps, seconds of one, seconds before and after them, and its layout."""

    num_steps: int
    step_s: float
    other_s: float
    num_ranks: int
    batch_size: int
    num_epochs: float


@dataclasses.dataclass(frozen=True)
class MeasuredRun:
    """A run's folder, read."""

    folder: Path
    recipe: dict[str, Any]
    """As `recipe.json` keeps it."""
    seconds: dict[str, float]
    """By stage."""
    browsing: dict[str, Browsing]
    """By stage."""
    training: dict[str, Training]
    """By round."""


def read_run(folder: Path) -> MeasuredRun:
    """What a run, finished or under way, has measured so far.

    Raises:
        UserError: it is no run's folder, or has no stage yet that browsed.
    """
    if not is_run(folder):
        raise UserError(f"--measured {folder}: not a run's folder; {describe_folder(folder)}")
    logbook, recipe = Logbook(folder), read_json(folder / "recipe.json")
    seconds, finished_at = logbook.seconds(), logbook.finished_at()
    rounds = {round["name"]: round for round in recipe["rounds"]}
    browsing, training = {}, {}
    for stage, spent in seconds.items():
        name, _, kind = stage.partition("/")
        if kind in FOLDERS and (folder / name / FOLDERS[kind]).is_dir():
            agent = rounds[name]["agent"] if kind == "explore" else "policy"
            episodes = sorted(_episodes(folder / name / FOLDERS[kind]), key=lambda episode: episode.began_at)
            if episodes:
                _check_times(folder / name / FOLDERS[kind], episodes, finished_at[stage])
                num_tasks = _count_tasks(folder / name / FOLDERS[kind])
                browsing[stage] = Browsing(stage, agent, spent, num_tasks, tuple(episodes))
        elif kind == "train" and (log := folder / name / "logs" / "train.log").exists():
            options = (rounds.get(name) or rounds[name.removesuffix("-control")])["training"] or recipe["training"]
            if found := _training(log, spent, options):
                training[name] = found
    if not browsing:
        raise UserError(f"--measured {folder}: no stage of it has browsed to its end yet")
    return MeasuredRun(folder, recipe, seconds, browsing, training)


def span_s(episodes: Sequence[Episode]) -> float:
    """Seconds from the first's begin to the last's end."""
    return max(episode.ended_at for episode in episodes) - min(episode.began_at for episode in episodes)


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


def _episodes(folder: Path) -> Iterator[Episode]:
    for trajectory in list_trajectories(folder):
        entries = {entry.name: entry.stat() for entry in os.scandir(trajectory)}
        if "trajectory.json" not in entries:
            continue
        summary = read_json(trajectory / "trajectory.json")
        if summary["status"] == INVALID:
            continue
        lines = [parse_json(line) for line in read_lines(trajectory / "steps.jsonl")]
        try:
            steps = tuple(_step(line, entries) for line in lines)
        except KeyError as missing:
            raise UserError(f"{trajectory}: not as a collector left it, {missing} is missing") from None
        if steps:
            outcome = read_outcome(trajectory)
            yield Episode(
                summary["task"]["web"],
                lines[0]["timings_s"].get("open_s", 0.0),
                steps,
                entries["trajectory.json"].st_mtime,
                outcome is not None and outcome.success,
                sum(entry.st_size for entry in entries.values()),
            )


def _step(line: dict[str, Any], entries: dict[str, os.stat_result]) -> StepTimes:
    times = line["timings_s"]
    asked_at = entries[f"screenshot{line['number']}.png"].st_mtime
    return StepTimes(times["observe_s"], times["policy_s"], times["act_s"], asked_at)


def _count_tasks(folder: Path) -> int:
    """Different tasks that have a trajectory."""
    return len({path.name.partition("--run")[0] for path in list_trajectories(folder)})


def _training(log: Path, spent: float, options: dict[str, Any]) -> Training | None:
    """None: the log tells of no step, as that of a training that was complete already."""
    by_step = {int(found[1]): float(found[2]) for line in read_lines(log) if (found := _ITERATION.search(line))}
    if not by_step:
        return None
    total_s = sum(by_step.values())
    num_ranks = math.prod(options.get(size, 1) for size in ("tp", "pp", "cp", "dp"))
    return Training(
        len(by_step),
        total_s / len(by_step),
        max(0.0, spent - total_s),
        num_ranks,
        options["global_batch_size"],
        options["train_epochs"],
    )
