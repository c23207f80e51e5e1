"""Every learning algorithm from one policy, on the same rollouts: a table with intervals and paired tests, a picture.

    POLICY=runs/quickstart/IL/policy python examples/compare/compare.py --output_dir runs/compare --num_test_tasks 300

The policy is tested once (start), as the same policy does the same on the same tasks, and explores once a seed
(seed-<n>/rollouts). Each algorithm then trains on what was found, as the first round of its
examples/<algorithm>/recipe.py does, and is tested (seed-<n>/<algorithm>, a run's folder); what does not depend on the
algorithm (samples, candidates, features, a critic's values) is made once. The same command goes on where it was
stopped; with more seeds, algorithms or test tasks it does what is missing.

The papers' ablations are algorithms, too, with a part changed (VARIANTS). WebRL's second phase has its own: each arm
goes on from seed-<n>/webrl, with 75 tasks if that many evolve.

    python examples/compare/compare.py --algorithms digiq digiq-awr digiq-pg digiq-monte_carlo
    python examples/compare/compare.py --algorithms webrl-curriculum webrl-fixed webrl-no_window

On the phone in Chromium, from the policy that examples/digirl/phone_warm_start.py made:

    POLICY=runs/phone/warm_start/IL/policy python examples/compare/compare.py --world touch --output_dir runs/on-phone
"""

import dataclasses
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from common import cli
from common.defaults import EXPLORATION_TASKS, TEST_TASKS
from common.errors import UserError
from common.files import link_tree, write_json
from common.options.limits import Checked, at_least
from common.shown.drawing import drawing
from common.shown.tables import Table, print_table
from common.significance import compare
from data.trajectory import list_trajectories
from elcano.console import console
from elcano.executors.executor import Executor, load_executor
from elcano.folders import working_in
from elcano.recipe import Recipe, Round, load_recipe, load_value, remember_recipe
from elcano.report import Result, mean_of, said, write_report
from elcano.rounds import Stages, run_rounds
from elcano.stages.stage import Logbook

EXAMPLES = Path(__file__).resolve().parent.parent
PHONE = EXAMPLES / "digirl" / "phone_warm_start.py"
EXPLORED = (EXPLORATION_TASKS, EXPLORATION_TASKS.with_name("optim-2.jsonl"))
TESTED = (TEST_TASKS, TEST_TASKS.with_name("test-2.jsonl"))
ALGORITHMS = ("sft", "filtered_bc", "pae", "digirl", "webrl", "digiq", "grpo")
BEFORE, AFTER, SECOND, ROLLOUTS = "start", "learned", "second", "rollouts"
DRAWN, CRITIC = ("candidates", "representation"), ("critic", "critic_folds", "critic_iters", "critic_training")
PREPARED = {  # stages of a round before its algorithm matters, and what they leave behind
    "select": ("samples.json", "images"),
    "pack": ("shards",),
    "hf2mg": ("megatron",),
    "candidates": ("candidates.parquet",),
    "pack-candidate-shards": ("candidate-shards",),
    "representation": ("representation",),
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A recipe of examples/ with something changed."""

    of: str
    """Its folder."""
    options: str = ""
    """What its algorithm is told besides what the recipe tells it."""
    round: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What is changed in its last round."""
    phases: int = 1
    """Rounds that are run; the first is seed-<n>/<of>'s."""
    against: str = ""
    """What it is an ablation of, if that is among the algorithms, too."""


FIXED = {"proposals": None, "tasks": EXPLORATION_TASKS.with_name("optim-3.jsonl")}
VARIANTS = {
    "sft": Variant("filtered_bc", "rule=all"),
    "digirl-no_curriculum": Variant("digirl", "curriculum=outcome", against="digirl"),
    "digiq-awr": Variant("digiq", "loss=awr", against="digiq"),
    "digiq-pg": Variant("digiq", "loss=pg", against="digiq"),
    "digiq-monte_carlo": Variant("digiq", round={"critic": "monte_carlo"}, against="digiq"),
    "grpo-trajectory": Variant("grpo", "normalizer=trajectory", against="grpo"),
    "grpo-constant": Variant("grpo", "normalizer=constant", against="grpo"),
    "webrl-released": Variant("webrl", "mode=released", against="webrl"),
    "webrl-heads": Variant("webrl", round={"critic": "heads"}, against="webrl"),
    "webrl-curriculum": Variant("webrl", phases=2),
    "webrl-fixed": Variant("webrl", round=FIXED, phases=2, against="webrl-curriculum"),
    "webrl-no_window": Variant("webrl", "window_low=0,window_high=1e300", phases=2, against="webrl-curriculum"),
}


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Compare learning algorithms."""

    output_dir: Path = Path("runs/compare")
    """Where everything is kept."""
    algorithms: tuple[str, ...] = ALGORITHMS
    """Folders of examples/, and sft, which imitates every rollout."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Of exploration and of training."""
    world: Literal["sites", "touch"] = "sites"
    """The embedded websites or the phone."""
    tasks: tuple[Path, ...] = ()
    """What is explored, three tries each. None: 150 tasks of the websites, 200 of the phone."""
    test_tasks: tuple[Path, ...] = ()
    """What every policy is tested on. None: the world's."""
    num_test_tasks: Annotated[int, at_least(1)] | None = None
    """Only so many of them; none: all."""


def main(config: Config) -> int:
    """Do what is missing, then write comparison.json and comparison.png; 1 where an algorithm could not learn."""
    for name in ("algorithms", "seeds"):
        if not getattr(config, name):
            raise UserError(f"--{name}: give at least one")
    names = dict.fromkeys(each for name in config.algorithms for each in (needed_by(name), name) if each)
    plans = {(name, seed): plan(config, name, seed) for seed in config.seeds for name in names}
    output_dir = config.output_dir.resolve()
    with working_in(output_dir):
        return carry_out(plans, output_dir, load_executor("local"))


def plan(config: Config, name: str, seed: int) -> Recipe:
    """The first round of an algorithm's recipe, after rollouts that suit all of them, GRPO's; and what follows it."""
    variant = VARIANTS.get(name, Variant(name))
    if variant.of not in ALGORITHMS and not (EXAMPLES / variant.of / "recipe.py").exists():
        raise UserError(f"--algorithms {name}: there are {', '.join((*ALGORITHMS, *list(VARIANTS)[1:]))}")
    own = load_recipe(EXAMPLES / variant.of / "recipe.py")
    exploration = load_recipe(EXAMPLES / "grpo" / "recipe.py").exploration
    own = dataclasses.replace(own, exploration=dataclasses.replace(exploration, max_rerun_times=3, seed=seed))
    tasks, test_tasks = EXPLORED, TESTED
    if config.world == "touch":
        own = load_value(PHONE, "on_phone", Recipe, web=own)
        tasks, test_tasks = (load_value(PHONE, "explored", Path, count=25),), own.test_tasks
    first = {"name": AFTER, "tasks": config.tasks or tasks, "buffer": False, "proposals": None}
    rounds = [dataclasses.replace(own.rounds[0], **first)]
    rounds += [dataclasses.replace(round, name=SECOND) for round in own.rounds[1 : variant.phases]]
    trainings = [own.training_of(round) for round in rounds]
    rounds = [
        dataclasses.replace(round, training=dataclasses.replace(training, seed=training.seed + seed))
        for round, training in zip(rounds, trainings, strict=True)
    ]
    rounds[-1] = changed(rounds[-1], variant)
    planned = dataclasses.replace(
        own,
        name=name,
        test_tasks=config.test_tasks or test_tasks,
        num_test_tasks=config.num_test_tasks,
        rounds=rounds,
        overlap=False,  # a test or an exploration is taken over from another run
    )
    planned.check_files()
    return planned


def changed(round: Round, variant: Variant) -> Round:
    """A round with what a variant changes in it."""
    options = ",".join(filter(None, (round.training.algorithm_options, variant.options)))
    training = dataclasses.replace(round.training, algorithm_options=options)
    return dataclasses.replace(round, training=training, **variant.round)


def carry_out(plans: dict[tuple[str, int], Recipe], output_dir: Path, executor: Executor) -> int:
    """Run the plans, by (algorithm, seed); one that ends with a `UserError` leaves the others alone."""
    failures: dict[str, str] = {}
    arms: dict[int, list[tuple[Recipe, Path]]] = {}  # that ended, by seed
    for (name, seed), recipe in plans.items():
        console.rule(f"{name}, seed {seed}")
        folder = output_dir / f"seed-{seed}"
        first = needed_by(name)
        if not first:
            begin(recipe, output_dir / BEFORE, folder / ROLLOUTS, executor)
            share(output_dir / BEFORE, f"{BEFORE}.test", [f"{BEFORE}/test"], folder / name)
            share(folder / ROLLOUTS, f"{AFTER}.explore", [f"{AFTER}/trajectories"], folder / name)
            take_over(recipe, arms.setdefault(seed, []), folder / name)
        try:
            if f"{first}, seed {seed}" in failures:
                raise UserError(f"{first} failed, from which {name} goes on")
            if first:
                go_on(folder / first, folder / name)
            train_and_test(recipe, folder / name, executor)
            if not first:
                arms[seed].append((recipe, folder / name))
        except UserError as error:
            failures[f"{name}, seed {seed}"] = str(error)
            console.print(f"{name}: {error}", markup=False, soft_wrap=True)
    return report(plans, output_dir, failures)


def begin(recipe: Recipe, tested: Path, explored: Path, executor: Executor) -> None:
    """What is the same for all algorithms: the policy tested, the same for all seeds, too, and its rollouts."""
    of_both = dataclasses.replace(recipe.training, algorithm="filtered_bc")  # any that learns from both outcomes
    round = Round(AFTER, recipe.rounds[0].tasks, agent="policy", training=of_both)
    as_tested = dataclasses.replace(
        recipe, name=BEFORE, rounds=[], exploration=dataclasses.replace(recipe.exploration, seed=None)
    )
    as_explored = dataclasses.replace(recipe, name=ROLLOUTS, rounds=[round])
    for shared, run_dir in ((as_tested, tested), (as_explored, explored)):
        stages = Stages(shared, run_dir, Logbook(run_dir), executor)
        remember_recipe(shared, run_dir)
        if shared.rounds:
            stages.explore(round, recipe.starting_policy)
        else:
            stages.test(BEFORE, recipe.starting_policy)


def share(of: Path, stage: str, paths: Sequence[str], run_dir: Path) -> None:
    """Hard links to what a stage of another run left behind; it is marked when all of it is there."""
    done, mark = (each / "stages" / f"{stage}.json" for each in (of, run_dir))
    if mark.exists() and mark.read_bytes() == done.read_bytes():
        return
    for path in paths:
        link(of / path, run_dir / path)
    mark.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(done, mark)


def link(path: Path, to: Path) -> None:
    """A hard link to a file, or to all files of a folder, in place of what is there."""
    if path.is_dir():
        link_tree(path, to)
    else:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        os.link(path, to)


def take_over(recipe: Recipe, arms: Sequence[tuple[Recipe, Path]], run_dir: Path) -> None:
    """Share what does not depend on the algorithm with an arm of the same seed that ended: samples, shards, candidates,
    what features are taken from, features, and a critic with its values; as far as both rounds ask for the same."""

    def asked(each: Recipe, *names: str) -> list:
        return [getattr(each.rounds[0], name) for name in names]

    def same_critic(each: Recipe) -> bool:
        return asked(each, *CRITIC) == asked(recipe, *CRITIC)

    alike = [arm for arm in arms if asked(arm[0], *DRAWN) == asked(recipe, *DRAWN)]
    if not alike:
        return
    other, of = max(alike, key=lambda arm: same_critic(arm[0]))
    for stage, paths in PREPARED.items():
        done, mark = (each / "stages" / f"{AFTER}.{stage}.json" for each in (of, run_dir))
        if done.exists() and not mark.exists():
            share(of, f"{AFTER}.{stage}", [f"{AFTER}/{path}" for path in paths], run_dir)
    if recipe.rounds[0].critic in ("td", "monte_carlo"):
        for name in ("features.parquet", *(("critic.pt", "values.parquet") if same_critic(other) else ())):
            done, own = (each / AFTER / "columns" / name for each in (of, run_dir))
            if done.exists() and not own.exists():
                link(done, own)


def needed_by(name: str) -> str:
    """The algorithm whose run is the first phase of a variant of two; else nothing."""
    return VARIANTS[name].of if name in VARIANTS and VARIANTS[name].phases > 1 else ""


def go_on(first: Path, run_dir: Path) -> None:
    """Begin a run with hard links to another, all but its recipe and its logs, which grow in place.

    Raises:
        UserError: the first phase has no end, or the run has begun after another one.
    """
    if not (first / "stages" / f"{AFTER}.test.json").exists():
        raise UserError(f"{first.name} did not end, from which {run_dir.name} goes on")
    mark = Path("stages") / f"{AFTER}.train.json"
    if run_dir.exists():
        if (run_dir / mark).read_bytes() != (first / mark).read_bytes():
            raise UserError(f"{run_dir} goes on from another {first.name}; delete that folder to start over")
        return
    begun = run_dir.with_name(f".{run_dir.name}.partial")
    shutil.rmtree(begun, ignore_errors=True)
    shutil.copytree(first, begun, copy_function=os.link, ignore=shutil.ignore_patterns("recipe.json", "logs"))
    begun.rename(run_dir)


def train_and_test(recipe: Recipe, run_dir: Path, executor: Executor) -> None:
    """A run whose exploration is there already."""
    remember_recipe(recipe, run_dir)
    results = []
    for result in run_rounds(recipe, run_dir, executor):
        results.append(result)
        write_report(run_dir, results, Logbook(run_dir).seconds(), 0)


def report(plans: dict[tuple[str, int], Recipe], output_dir: Path, failures: dict[str, str]) -> int:
    """The table, `comparison.json` and `comparison.png`."""
    policies = {BEFORE: [Result.read(output_dir / BEFORE, BEFORE)]}
    for (name, seed), recipe in plans.items():
        if f"{name}, seed {seed}" not in failures:
            result = Result.read(output_dir / f"seed-{seed}" / name, recipe.rounds[-1].name)
            policies.setdefault(name, []).append(result)
    told: dict[str, dict] = {}
    tries = {
        name: sum(num_tries(output_dir / f"seed-{seed}" / name) for other, seed in plans if other == name)
        for name, _ in plans
    }
    figures = ("seeds", "tries", "success", "95 %", "steps")
    table = Table(
        ["algorithm"],
        figures,
        ["against start on the same tasks: points (95 %), tasks won:lost, p of the exact sign test"],
        title="Success on the test tasks",
    )
    for name, results in policies.items():
        mean = mean_of(results)
        others = [other for other in (BEFORE, VARIANTS.get(name, Variant(name)).against) if other in policies]
        changes = {
            other: compare(mean_of(policies[other]).outcomes, mean.outcomes) for other in others if other != name
        }
        low, high = mean.interval
        rates = [result.success_rate for result in results]
        against = {other: change and dataclasses.asdict(change) for other, change in changes.items()}
        told[name] = {**mean.to_json(), "rates": rates, "against": against, "tries": tries.get(name, 0)}
        success = f"{mean.success_rate:.1%} ({', '.join(f'{100 * rate:.0f}' for rate in rates)})"
        shown = (
            str(len(results)),
            str(tries.get(name, 0)),
            success,
            f"{100 * low:.0f}-{100 * high:.0f}",
            f"{mean.mean_steps:.1f}",
        )
        lines = [said(change) if other == BEFORE else f"{other}: {said(change)}" for other, change in changes.items()]
        table.add(name, *shown, "\n".join(lines))
    for name in dict.fromkeys(name for name, _ in plans if name not in policies):
        table.add(name, "0", str(tries[name]), "", "", "", "learned nothing")
    print_table(table, console)
    for what, line in failures.items():
        console.print(f"{what}: {line}", markup=False, soft_wrap=True)
    write_json(output_dir / "comparison.json", {"policies": told, "failures": failures})
    draw(output_dir / "comparison.png", told)
    return 1 if failures else 0


def num_tries(run_dir: Path) -> int:
    """Trajectories that a run learned from, of all its rounds."""
    folders = (run_dir / name / "trajectories" for name in (AFTER, SECOND))
    return sum(len(list_trajectories(folder)) for folder in folders if folder.exists())


def draw(path: Path, told: dict[str, dict]) -> None:
    """Success of each policy, with intervals of 95 % and a point a seed."""
    with drawing(path, (7, 4.2)) as [axes]:
        for place, policy in enumerate(told.values()):
            rate, (low, high) = policy["success_rate"], policy["interval"]
            bars = [[100 * (rate - low)], [100 * (high - rate)]]
            seeds = [100 * each for each in policy["rates"]]
            mean = axes.errorbar([place], [100 * rate], bars, marker="o", capsize=4, color="#14606b")
            (points,) = axes.plot([place + 0.1] * len(seeds), seeds, ".", color="#c2571a")
        axes.set_xticks(range(len(told)), list(told))
        axes.set_xlim(-0.5, len(told) - 0.5)
        axes.set_ylim(-2, 102)
        axes.set_ylabel("test tasks solved (%)")
        axes.set_title("Each algorithm's policy after one round from the same start")
        axes.legend([mean, points], ["mean of the seeds, 95 % interval", "one seed"])
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
