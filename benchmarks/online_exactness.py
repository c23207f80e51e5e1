"""How far a trainer's log-probabilities are from the server's, on every token of many rollouts, layout by layout.

    python -m benchmarks.online_exactness --recipe examples/miniwob/recipe.py --work_dir DIR

Server and pool of an online recipe take groups by one version of the weights. Then the trainer reads those that differ
within, as it would to learn them, and compares instead. The same command goes on where it was stopped.
"""

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

from common import cli
from common.files import read_object
from common.options.limits import Checked, at_least
from common.shown.tables import Table, print_table
from data.online_run import OnlineRun, read_group
from elcano.executors.executor import Command
from elcano.executors.local import Executor
from elcano.online import load_online_recipe, run_online

LAYOUTS: dict[str, dict[str, Any]] = {
    "TP1": {},
    "packed": {"packing": "true", "batch_size": 1},
    "TP2": {"tp": 2},
    "TP2, packed": {"tp": 2, "packing": "true", "batch_size": 1},
    "adapters": {"lora_rank": 8},
}


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Collect once, compare in each layout."""

    recipe: Path
    """Python file with `def online()`, as `elcano online` takes it."""
    work_dir: Path
    """Receives the run, and a folder for each layout."""
    num_groups: Annotated[int, at_least(1)] = 250
    """Groups that are collected; those whose tries all ended alike are not compared."""
    layouts: tuple[str, ...] = tuple(LAYOUTS)
    """Names in `LAYOUTS`."""


def main(config: Config) -> None:
    """A line for each layout."""
    recipe, run = load_online_recipe(config.recipe), OnlineRun(config.work_dir / "run")
    groups = {"groups_per_step": config.num_groups + 1, "max_lag": 0}  # one more than there are: nothing is learned
    recipe = dataclasses.replace(
        recipe,
        collection={**recipe.collection, **groups, "num_groups": config.num_groups},
        training={**recipe.training, **groups},
    )
    if sum(read_group(path) is not None for path in run.groups().values()) < config.num_groups:
        run_online(recipe, run.folder)
    differ = [path for path in run.groups().values() if (group := read_group(path)) and len(set(group.rewards)) > 1]
    table = Table(["layout"], ["rollouts", "tokens", "mean", "largest"])
    for name in config.layouts:
        own = OnlineRun(config.work_dir / name.replace(", ", "-"))
        result = own.folder / "difference.json"
        if not result.exists():
            _compare(run, own, differ, {**recipe.training, **LAYOUTS[name]})
        found = read_object(result)
        table.add(name, str(found["rollouts"]), str(found["num_tokens"]), f"{found['mean']:.2g}", f"{found['max']:.2g}")
    print_table(table)


def _compare(run: OnlineRun, own: OnlineRun, differ: list[Path], training: dict[str, Any]) -> None:
    """In a folder with the same groups, since a trainer writes beside them."""
    shutil.rmtree(own.folder, ignore_errors=True)
    own.trajectories.mkdir(parents=True)
    own.weights.mkdir()
    own.version(0).symlink_to(run.version(0).resolve())
    for path in differ:
        (own.trajectories / path.name).symlink_to(path.resolve())
    flags = {**training, "groups_per_step": len(differ), "max_lag": 0, "compared_samples": 0}
    flags |= {"run_dir": own.folder, "pretrain_checkpoint_path": run.folder / "megatron"}
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={flags['tp']}"]
    words += ["-m", "benchmarks.online_exactness_rank"]
    words += [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    Executor().run(Command(words, own.folder / "compare.log"))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
