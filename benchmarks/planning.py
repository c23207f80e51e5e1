"""Simulated against measured collection:

    python -m benchmarks.planning --fit runs/seed-0 --stages IL/explore optim-1/explore --check runs/seed-1 runs/seed-2

Speeds come from the named stages of one run. Each start of the collector in the other runs is then simulated, on as
many tasks of the same websites as it took, and set against the clock. The seconds of an optimizer step
of the same round tell of other work: without it they are those of the run that was fitted to.
"""

import dataclasses
import statistics
import sys
import time
from pathlib import Path

from common import cli
from common.command_line import read
from common.errors import UserError
from data.task import Task
from elcano.planning.episodes import span_s
from elcano.planning.measured import Browsing, MeasuredRun, read_run
from elcano.planning.simulation import Setting, simulate
from elcano.planning.speeds import StageSpeed, fit


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckConfig:
    """Set the simulation against runs that it was not fitted to."""

    fit: Path
    """Run whose stages give the speeds."""
    check: tuple[Path, ...]
    """Other runs, to simulate."""
    stages: tuple[str, ...] = ()
    """Of the first; none: all that browsed."""
    cores: int = 2
    """Of the machine of all these runs."""
    repeats: int = 5
    """Simulations of each, whose mean is shown."""


def main(words: list[str]) -> int:
    """A table, in Markdown."""
    config = read(CheckConfig, words, description=__doc__)
    run = read_run(config.fit)
    speeds = fit(run, config.stages or tuple(run.browsing), config.cores)
    titles = (
        "run",
        "stage",
        "began",
        "tasks",
        "steps",
        "simulated",
        "s",
        "simulated",
        "simulated / measured",
        "s a step",
    )
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for folder in config.check:
        if folder.resolve() == config.fit.resolve():
            raise UserError(f"--check {folder}: the speeds are fitted to this run")
        checked = read_run(folder)
        for stage in checked.browsing.values():
            trained = checked.training.get(stage.name.partition("/")[0])
            for attempt in stage.attempts:
                tasks = [Task(f"t{number}", "", episode.web) for number, episode in enumerate(attempt)]
                speed, setting = _speed(speeds, stage), _setting(checked, stage, config.cores)
                found = [simulate(tasks, speed, setting, seed) for seed in range(config.repeats)]
                simulated_s = statistics.mean(one.seconds for one in found)
                began, measured_s = time.gmtime(min(episode.began_at for episode in attempt)), span_s(attempt)
                columns = (
                    folder.name,
                    stage.name,
                    time.strftime("%H:%M", began),
                    len(attempt),
                    sum(len(episode.steps) for episode in attempt),
                    round(statistics.mean(one.num_steps for one in found)),
                    f"{measured_s:.0f}",
                    f"{simulated_s:.0f}",
                    f"{simulated_s / measured_s:.2f}",
                    f"{trained.step_s:.2f}" if trained else "",
                )
                print(f"| {' | '.join(map(str, columns))} |", flush=True)
    return 0


def _speed(speeds: dict[str, StageSpeed], stage: Browsing) -> StageSpeed:
    """Of the stage of the same name, or else of the last one by the same agent."""
    return speeds.get(stage.name) or [speed for speed in speeds.values() if speed.agent == stage.agent][-1]


def _setting(run: MeasuredRun, stage: Browsing, cores: int) -> Setting:
    """As the run's own recipe says; tries are what a stage of several tries has as many trajectories of."""
    taught, serving = stage.agent == "teacher", run.recipe["serving"]
    how = run.recipe["testing" if stage.name.endswith("/test") else "teacher" if taught else "exploration"]
    return Setting(
        nodes=1,
        cores=cores,
        sessions=how["num_sessions"],
        seats=how["max_busy_pages"] or 8 * cores,
        replicas=1 if taught else serving["replicas"],
        max_batch_size=how["num_sessions"] if taught else serving["max_batch_size"],
        max_queue=0 if taught else serving["max_queue"],
        site_concurrency=how["site_concurrency"],
        site_interval_s=how["site_interval_s"],
    )


if __name__ == "__main__":
    sys.exit(cli.guarded(main, sys.argv[1:]))
