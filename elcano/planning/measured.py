"""What a run's folder tells of time: seconds of stages, of each step of each trajectory, of training's steps."""

import dataclasses
import functools
import itertools
import math
import re
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_lines, read_object
from data.trajectory import list_trajectories
from elcano.folders import describe_folder, is_run
from elcano.planning.episodes import Episode, intact, read_episodes, span_s
from elcano.stage import Logbook

FOLDERS = {"explore": "trajectories", "test": "test"}
_QUIET_S = 5.0  # without a trajectory under way: the collector had stopped, and was started again later
_ITERATION = re.compile(r" iteration (\d+)/\d+ \|.*\| ([\d.]+) s \(")


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

    @property
    def undisturbed(self) -> tuple[str, ...]:
        """The stages that browsed while no other one did (`Recipe.overlap` has two at once); all of an agent that has
        none."""
        alone = [
            name
            for name, stage in self.browsing.items()
            if not any(_at_once(stage, other) for other in self.browsing.values() if other is not stage)
        ]
        agents = {self.browsing[name].agent for name in alone}
        return tuple(name for name, stage in self.browsing.items() if name in alone or stage.agent not in agents)


def _at_once(one: Browsing, other: Browsing) -> bool:
    """Whether both had trajectories under way."""
    spans = [
        [(min(each.began_at for each in attempt), max(each.ended_at for each in attempt)) for attempt in stage.attempts]
        for stage in (one, other)
    ]
    return any(mine[0] < its[1] and its[0] < mine[1] for mine, its in itertools.product(*spans))


def read_run(folder: Path) -> MeasuredRun:
    """What a run, finished or under way, has measured so far.

    Raises:
        UserError: it is no run's folder, or has no stage yet that browsed.
    """
    if not is_run(folder):
        raise UserError(f"--measured {folder}: not a run's folder; {describe_folder(folder)}")
    logbook, recipe = Logbook(folder), read_object(folder / "recipe.json")
    seconds, finished_at = logbook.seconds(), logbook.finished_at()
    browsing, training = {}, {}
    for stage, spent in seconds.items():
        name, _, kind = stage.partition("/")
        if kind in FOLDERS and (trajectories := folder / name / FOLDERS[kind]).is_dir():
            episodes = read_episodes(trajectories, finished_at[stage])
            if episodes:
                agent = _round(folder, recipe, name)["agent"] if kind == "explore" else "policy"
                browsing[stage] = Browsing(stage, agent, spent, _count_tasks(trajectories), episodes)
        elif kind == "train" and (log := folder / name / "logs" / "train.log").exists():
            options = _round(folder, recipe, name)["training"] or recipe["training"]
            with intact(log):
                found = _training(log, spent, options)
            if found:
                training[name] = found
    if not browsing:
        raise UserError(f"--measured {folder}: no stage of it has browsed to its end yet")
    return MeasuredRun(folder, recipe, seconds, browsing, training)


def _round(folder: Path, recipe: Any, name: str) -> dict[str, Any]:
    """What the recipe says of a round, or of the one that a control is of; `UserError` where it is no run's recipe."""
    with intact(folder / "recipe.json"):
        rounds = {round["name"]: round for round in recipe["rounds"]}
        return {**dict.fromkeys(("agent", "training")), **(rounds.get(name) or rounds[name.removesuffix("-control")])}


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
