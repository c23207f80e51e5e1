"""Every learning algorithm from one policy, on the same rollouts: a table with intervals and paired tests, a picture.

    POLICY=runs/quickstart/IL/policy python examples/compare/compare.py --output_dir runs/compare --num_test_tasks 300

The policy is tested and explores once a seed (seed-<n>/rollouts). Each algorithm then trains on what was found, as the
first round of its examples/<algorithm>/recipe.py does, and is tested (seed-<n>/<algorithm>, a run's folder). The same
command goes on where it was stopped; with more seeds, algorithms or test tasks it does what is missing.
"""

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Annotated

from rich.table import Table

from common import cli
from common.defaults import EXPLORATION_TASKS, TEST_TASKS
from common.drawing import drawing
from common.errors import UserError
from common.files import write_json
from common.limits import Checked, at_least
from common.significance import compare
from elcano.console import console
from elcano.executors.executor import Executor, load_executor
from elcano.folders import working_in
from elcano.recipe import Recipe, Round, load_recipe, remember_recipe
from elcano.report import Result, mean_of, said, write_report
from elcano.rounds import Stages, run_rounds
from elcano.stage import Logbook

EXAMPLES = Path(__file__).resolve().parent.parent
ALGORITHMS = ("sft", "filtered_bc", "pae", "digirl", "webrl", "digiq", "grpo")
BEFORE, AFTER, ROLLOUTS = "start", "learned", "rollouts"


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Compare learning algorithms."""

    output_dir: Path = Path("runs/compare")
    """Where everything is kept."""
    algorithms: tuple[str, ...] = ALGORITHMS
    """Folders of examples/, and sft, which imitates every rollout."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Of exploration and of training."""
    tasks: tuple[Path, ...] = (EXPLORATION_TASKS, EXPLORATION_TASKS.with_name("optim-2.jsonl"))
    """What is explored, three tries each."""
    test_tasks: tuple[Path, ...] = (TEST_TASKS, TEST_TASKS.with_name("test-2.jsonl"))
    """What every policy is tested on."""
    num_test_tasks: Annotated[int, at_least(1)] | None = None
    """Only so many of them; none: all."""


def main(config: Config) -> int:
    """Do what is missing, then write comparison.json and comparison.png; 1 where an algorithm could not learn."""
    plans = {(name, seed): plan(config, name, seed) for seed in config.seeds for name in config.algorithms}
    output_dir = config.output_dir.resolve()
    with working_in(output_dir):
        return carry_out(plans, output_dir, load_executor("local"))


def plan(config: Config, name: str, seed: int) -> Recipe:
    """The first round of an algorithm's recipe, after rollouts that suit all of them: GRPO's."""
    if name not in ALGORITHMS and not (EXAMPLES / name / "recipe.py").exists():
        raise UserError(f"--algorithms {name}: there are {', '.join(ALGORITHMS)}")
    own = load_recipe(EXAMPLES / ("filtered_bc" if name == "sft" else name) / "recipe.py")
    training = own.training_of(own.rounds[0])
    training = dataclasses.replace(training, seed=training.seed + seed)
    if name == "sft":
        training = dataclasses.replace(training, algorithm_options="rule=all")
    exploration = dataclasses.replace(load_recipe(EXAMPLES / "grpo" / "recipe.py").exploration, max_rerun_times=3)
    plain = {"buffer": False, "proposals": None}
    round = dataclasses.replace(own.rounds[0], name=AFTER, tasks=config.tasks, training=training, **plain)
    planned = dataclasses.replace(
        own,
        name=name,
        test_tasks=config.test_tasks,
        num_test_tasks=config.num_test_tasks,
        rounds=[round],
        exploration=dataclasses.replace(exploration, seed=seed),
    )
    planned.check_files()
    return planned


def carry_out(plans: dict[tuple[str, int], Recipe], output_dir: Path, executor: Executor) -> int:
    """Run the plans, by (algorithm, seed); one that ends with a `UserError` leaves the others alone."""
    failures: dict[str, str] = {}
    for (name, seed), recipe in plans.items():
        console.rule(f"{name}, seed {seed}")
        folder = output_dir / f"seed-{seed}"
        explore(recipe, folder / ROLLOUTS, executor)
        share(folder / ROLLOUTS, folder / name)
        try:
            train_and_test(recipe, folder / name, executor)
        except UserError as error:
            failures[f"{name}, seed {seed}"] = str(error)
            console.print(f"{name}: {error}", markup=False, soft_wrap=True)
    return report(plans, output_dir, failures)


def explore(recipe: Recipe, run_dir: Path, executor: Executor) -> None:
    """What is the same for all algorithms: the policy tested, and its rollouts."""
    of_both = dataclasses.replace(recipe.training, algorithm="filtered_bc")  # any that learns from both outcomes
    round = Round(AFTER, recipe.rounds[0].tasks, agent="policy", training=of_both)
    shared = dataclasses.replace(recipe, name=ROLLOUTS, rounds=[round])
    stages = Stages(shared, run_dir, Logbook(run_dir), executor)
    remember_recipe(shared, run_dir)
    stages.test(BEFORE, recipe.starting_policy)
    stages.explore(round, recipe.starting_policy)


def share(rollouts: Path, run_dir: Path) -> None:
    """Hard links to what `explore` left behind; a stage is marked when all of it is there."""
    for stage, folder in ((f"{BEFORE}.test", f"{BEFORE}/test"), (f"{AFTER}.explore", f"{AFTER}/trajectories")):
        done, mark = (each / "stages" / f"{stage}.json" for each in (rollouts, run_dir))
        if mark.exists() and mark.read_bytes() == done.read_bytes():
            continue
        shutil.rmtree(run_dir / folder, ignore_errors=True)
        shutil.copytree(rollouts / folder, run_dir / folder, copy_function=os.link)
        mark.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(done, mark)


def train_and_test(recipe: Recipe, run_dir: Path, executor: Executor) -> None:
    """A run whose exploration is there already."""
    remember_recipe(recipe, run_dir)
    results = []
    for result in run_rounds(recipe, run_dir, executor):
        results.append(result)
        write_report(run_dir, results, Logbook(run_dir).seconds(), 0)


def report(plans: dict[tuple[str, int], Recipe], output_dir: Path, failures: dict[str, str]) -> int:
    """The table, `comparison.json` and `comparison.png`."""
    seeds = list(dict.fromkeys(seed for _, seed in plans))
    policies = {"start": [Result.read(output_dir / f"seed-{seed}" / ROLLOUTS, BEFORE) for seed in seeds]}
    for name, seed in plans:
        if f"{name}, seed {seed}" not in failures:
            policies.setdefault(name, []).append(Result.read(output_dir / f"seed-{seed}" / name, AFTER))
    before, told = mean_of(policies["start"]), {}
    table = Table(title="Success on the test tasks", caption="points (95 %), tasks won:lost, p of the exact sign test")
    for title in ("algorithm", "seeds", "success", "95 %", "steps", "against start, on the same tasks"):
        table.add_column(title)
    for name, results in policies.items():
        mean = mean_of(results)
        change = compare(before.outcomes, mean.outcomes) if name != "start" else None
        low, high = mean.interval
        rates = [result.success_rate for result in results]
        told[name] = {**mean.to_json(), "rates": rates, "change": change and dataclasses.asdict(change)}
        success = f"{mean.success_rate:.1%} ({', '.join(f'{100 * rate:.0f}' for rate in rates)})"
        shown = (str(len(results)), success, f"{100 * low:.0f}-{100 * high:.0f}", f"{mean.mean_steps:.1f}")
        table.add_row(name, *shown, said(change) if change else "")
    console.print(table)
    for what, line in failures.items():
        console.print(f"{what}: {line}", markup=False, soft_wrap=True)
    write_json(output_dir / "comparison.json", {"policies": told, "failures": failures})
    draw(output_dir / "comparison.png", told)
    return 1 if failures else 0


def draw(path: Path, told: dict[str, dict]) -> None:
    """Success of each policy, with intervals of 95 % and a point a seed."""
    with drawing(path, (7, 4.2)) as [axes]:
        for place, policy in enumerate(told.values()):
            rate, (low, high) = policy["success_rate"], policy["interval"]
            bars = [[100 * (rate - low)], [100 * (high - rate)]]
            axes.errorbar([place], [100 * rate], bars, marker="o", capsize=4, color="#14606b")
            axes.plot(
                [place + 0.15] * len(policy["rates"]), [100 * each for each in policy["rates"]], ".", color="#c2571a"
            )
        axes.set_xticks(range(len(told)), list(told))
        axes.set_ylim(0, 100)
        axes.set_ylabel("test tasks solved (%), 95 % interval; points: seeds")
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
