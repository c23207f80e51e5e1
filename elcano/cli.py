"""The `elcano` command: `elcano run examples/quickstart/recipe.py --output_dir runs/quickstart`.

Running the same command again continues where the run stood, whatever killed it. `elcano --version` says which Elcano
this is.
"""

import dataclasses
import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import tyro

from common import cli
from common.defaults import short
from common.errors import UserError
from common.options.command_line import read
from data.online_run import OnlineRun
from elcano.briefing import brief, left, machine_s
from elcano.console import console
from elcano.executors.executor import Executor, load_executor
from elcano.folders import at_work, describe_folder, is_run, working_in
from elcano.online import load_online_recipe, run_online, told
from elcano.pictures import failed, film, learned
from elcano.recipe import Recipe, load_recipe, remember_recipe
from elcano.report import mean_of, print_table, read_results, write_report
from elcano.rounds import run_rounds
from elcano.stages.columns import check_algorithms
from elcano.stages.stage import Logbook
from elcano.trial import example, try_task
from viewer.options import ViewConfig


@dataclasses.dataclass(frozen=True)
class Run:
    """Go through a recipe's rounds, or continue them."""

    recipe: tyro.conf.Positional[Path]
    """Python file that defines `recipe() -> Recipe`."""
    output_dir: Path | None = None
    """Where everything of the run is kept; by default `runs/` and the recipe's name."""
    executor: str = "local"
    """Where its commands run: a file's name in elcano/executors/, `local`, `slurm` or `ray`."""
    address: str = ""
    """HOST:PORT of the Ray cluster; else RAY_ADDRESS, or a Ray of its own on this machine."""


@dataclasses.dataclass(frozen=True)
class Online:
    """Learn without rounds: server, collector and trainer side by side, until Ctrl-C; or go on with such a run."""

    recipe: tyro.conf.Positional[Path]
    """Python file that defines `online() -> OnlineRecipe`."""
    output_dir: Path = Path("runs/online")
    """Where everything of the run is kept."""


@dataclasses.dataclass(frozen=True)
class Show:
    """Print where a run stands, or what several runs of the same recipe have in common."""

    output_dirs: tyro.conf.Positional[tuple[Path, ...]]
    """A run's folder; of several, such as those of three seeds, each round's mean over the runs."""


@dataclasses.dataclass(frozen=True)
class Try:
    """Watch a run's newest policy at work on a task of yours."""

    recipe: tyro.conf.Positional[Path]
    """The run's recipe."""
    task: tyro.conf.Positional[str]
    """What it should do, such as 'find the price of "Teyaf Indigo".'"""
    output_dir: Path | None = None
    """The run's folder; by default `runs/` and the recipe's name."""
    executor: str = "local"
    """Where its commands run."""
    address: str = ""
    """HOST:PORT of the Ray cluster, as of `run`."""
    web: str = "shop"
    """Where it begins: one of the embedded websites (shop, encyclopedia, forum, timetable, gallery), or an address."""


Command = (
    Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Online, tyro.conf.subcommand("online")]
    | Annotated[Show, tyro.conf.subcommand("show")]
    | Annotated[Try, tyro.conf.subcommand("try")]
    | Annotated[ViewConfig, tyro.conf.subcommand("view")]
)


def main() -> None:
    """Entry point of the `elcano` command."""
    if sys.argv[1:] == ["--version"]:
        print(f"elcano {version('elcano')}")
        return
    sys.exit(cli.guarded(_main, _typed()))


def _main(words: list[str]) -> int:
    command = read(Command, words, program="elcano", description=__doc__)
    return {Run: _run, Online: _online, Show: _show, Try: _try, ViewConfig: _view}[type(command)](command)


def _typed() -> list[str]:
    """The words of the command line; of those that ask for a command's help only these, as tyro's help leaves out
    what is given already."""
    typed = sys.argv[1:]
    return [typed[0], "--help"] if {"-h", "--help"} & set(typed[1:]) else typed


def _run(command: Run) -> int:
    recipe, executor = load_recipe(command.recipe), _executor(command)
    executor.check(recipe.needs)
    check_algorithms(recipe)
    output_dir = command.output_dir or _usual(recipe)
    run_dir = output_dir.resolve()
    with working_in(run_dir):
        remember_recipe(recipe, run_dir)
        here_s, results = machine_s(), []
        for line in brief(recipe, Logbook(run_dir).seconds(), here_s):
            console.print(line, markup=False, soft_wrap=True)
        try:
            for result in run_rounds(recipe, run_dir, executor):
                results.append(result)
                done = Logbook(run_dir).seconds()
                write_report(run_dir, results, done, here_s)
                console.print(f"{result.name}: {result.num_success} of {result.num_tasks} test tasks solved")
                if len(results) == 1 and (task := failed(run_dir, result)):
                    picture = film(executor, run_dir, result.name, task)
                    console.print(f"how it fails at {task}: {short(picture)}", soft_wrap=True)
                if pace := left(recipe, done):
                    console.print(pace)
        except KeyboardInterrupt:
            console.print("interrupted; what is complete is kept, and the same command continues")
            raise
        print_table(results, Logbook(run_dir).seconds())
        console.print(f"summary: {run_dir / 'summary.json'}\nplot:    {run_dir / 'success.png'}")
        task = learned(run_dir, results)
        if task:
            pictures = [short(film(executor, run_dir, result.name, task)) for result in (results[0], results[-1])]
            console.print(f"{task}:\n  failed  {pictures[0]}\n  solved  {pictures[1]}", soft_wrap=True)
        console.print(f"in a new shell first: source {short(Path(sys.prefix) / 'bin' / 'activate')}", soft_wrap=True)
        console.print(f"look:    elcano view {short(output_dir)}", markup=False, soft_wrap=True)
        if recipe.embedded_sites and recipe.rounds:
            words = f"{short(command.recipe)} {example(recipe, task)} --output_dir {short(output_dir)}"
            console.print(f"yours:   elcano try {words}", markup=False, soft_wrap=True)
    return 0


def _online(command: Online) -> int:
    recipe, run_dir = load_online_recipe(command.recipe), command.output_dir.resolve()
    _end_in_order()
    with working_in(run_dir):
        try:
            run_online(recipe, run_dir)
        except KeyboardInterrupt:
            console.print("stopped; what is complete is kept, and the same command continues")
            raise
        console.print(told(OnlineRun(run_dir)), markup=False, soft_wrap=True)
    return 0


def _executor(command: Run | Try) -> Executor:
    """Asked to end, it leaves nothing running, as after Ctrl-C."""
    if command.address and command.executor != "ray":
        raise UserError(f"--address {command.address}: it is where --executor ray finds its cluster")
    if command.address:
        os.environ["RAY_ADDRESS"] = command.address
    _end_in_order()
    return load_executor(command.executor)


def _end_in_order() -> None:
    """At signals that end processes, as after Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as after nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def _usual(recipe: Recipe) -> Path:
    """Where a recipe's run lies if nobody says otherwise."""
    return Path("runs") / recipe.name


def _try(command: Try) -> int:
    recipe, executor = load_recipe(command.recipe), _executor(command)
    run_dir = (command.output_dir or _usual(recipe)).resolve()
    try_task(recipe, run_dir, executor, command.task, command.web)
    return 0


def _view(command: ViewConfig) -> int:
    """The viewer takes this process's place, with the words that were typed."""
    os.execv(sys.executable, [sys.executable, "-m", "viewer", *sys.argv[2:]])


def _show(command: Show) -> int:
    if not command.output_dirs:
        raise UserError("elcano show: which run? give its folder, such as runs/quickstart")
    for folder in command.output_dirs:
        if not is_run(folder):
            raise UserError(f"{folder}: not a run's folder; {describe_folder(folder)}")
    runs = [read_results(folder) for folder in command.output_dirs]
    seconds = [Logbook(folder).seconds() for folder in command.output_dirs]
    rounds = [mean_of(same) for same in zip(*runs, strict=False)]
    if rounds:
        print_table(
            rounds, {stage: sum(by_stage[stage] for by_stage in seconds if stage in by_stage) for stage in seconds[0]}
        )
    for folder, by_stage in zip(command.output_dirs, seconds, strict=True):
        console.print(f"stages done: {', '.join(by_stage) or 'none yet'}; logs: {folder}/*/logs")
        if now := at_work(folder):
            console.print(f"at work: {now}", markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    main()
