"""The `elcano` command: `elcano run examples/quickstart/recipe.py --output_dir runs/quickstart`.

Running the same command again continues where the run stood, whatever killed it.
"""

import dataclasses
import fcntl
import sys
from pathlib import Path
from typing import Annotated

import tyro

from common import cli
from common.errors import UserError
from common.files import read_json
from elcano.console import console
from elcano.executors.executor import load_executor
from elcano.folders import describe_folder
from elcano.recipe import load_recipe, remember_recipe
from elcano.report import Result, print_table, write_report
from elcano.rounds import run_rounds
from elcano.stage import Logbook


@dataclasses.dataclass(frozen=True)
class Run:
    """Go through a recipe's rounds, or continue them."""

    recipe: tyro.conf.Positional[Path]
    """Python file that defines `recipe() -> Recipe`."""
    output_dir: Path = Path("runs/elcano")
    """Where everything of the run is kept."""
    executor: str = "local"
    """Where its commands run: a file's name in elcano/executors/."""


@dataclasses.dataclass(frozen=True)
class Show:
    """Print where a run stands."""

    output_dir: tyro.conf.Positional[Path]
    """A run's folder."""


Command = Annotated[Run, tyro.conf.subcommand("run")] | Annotated[Show, tyro.conf.subcommand("show")]


def main() -> None:
    """Entry point of the `elcano` command."""
    command = tyro.cli(Command, args=_typed(), prog="elcano", description=__doc__, use_underscores=True)
    sys.exit(cli.guarded(_run if isinstance(command, Run) else _show, command))


def _typed() -> list[str]:
    """The words of the command line; of those that ask for a command's help only these, as tyro's help leaves out
    what is given already."""
    typed = sys.argv[1:]
    return [typed[0], "--help"] if {"-h", "--help"} & set(typed[1:]) else typed


def _run(command: Run) -> int:
    recipe, executor = load_recipe(command.recipe), load_executor(command.executor)
    run_dir = command.output_dir.resolve()
    run_dir.mkdir(parents=True, exist_ok=True)
    with open(run_dir / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{run_dir}: another elcano run is working there; wait for it or stop it") from None
        remember_recipe(recipe, run_dir)
        results = []
        try:
            for result in run_rounds(recipe, run_dir, executor):
                results.append(result)
                write_report(run_dir, results, Logbook(run_dir).seconds())
        except KeyboardInterrupt:
            console.print("interrupted; what is complete is kept, and the same command continues")
            raise
        print_table(results, Logbook(run_dir).seconds())
        console.print(f"summary: {run_dir / 'summary.json'}\nplot:    {run_dir / 'success.png'}")
    return 0


def _show(command: Show) -> int:
    if not (command.output_dir / "stages").is_dir():
        raise UserError(f"{command.output_dir}: not a run's folder; {describe_folder(command.output_dir)}")
    seconds, path = Logbook(command.output_dir).seconds(), command.output_dir / "summary.json"
    if path.exists():
        print_table([Result(**fields) for fields in read_json(path)["rounds"]], seconds)
    console.print(f"stages done: {', '.join(seconds) or 'none yet'}; logs: {command.output_dir}/*/logs")
    return 0


if __name__ == "__main__":
    main()
