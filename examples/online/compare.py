"""Algorithms that learn online, from one warm start and by the same number of tries: a table and a picture.

    python examples/online/compare.py --output_dir runs/online-compare --algorithms grpo pae --tries 1000

Each run is a folder of `elcano online`, <output_dir>/seed-<n>/<algorithm>. The version that it ends with is tested
greedily on held-out tasks. The same command goes on where it was stopped; with more algorithms or seeds it does what is
missing. Needs a warm start in its world: of examples/online/warm_start.py, examples/miniwob/warm_start.py,
examples/digirl/phone_warm_start.py or examples/apps/warm_start.py.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from curve import read_points
from recipe import LEARNING, made
from worlds import WORLDS, World

from common import cli
from common.errors import UserError
from common.files import read_object, write_json
from common.options.limits import Checked, at_least
from common.shown.drawing import drawing
from common.shown.tables import Table, print_table
from common.significance import compare, wilson
from data.online_run import OnlineRun, read_group
from data.task import family_of_task, write_tasks
from elcano.executors.executor import Command, python
from elcano.executors.local import Executor
from elcano.online import run_online
from elcano.resources import ANY
from elcano.stages.services import policy_server
from server.config import ServerConfig

START = "warm start"
_GROUPS_A_POINT = 18
_COLOURS = ("#14606b", "#c2571a", "#6b4c9a", "#2f7d32", "#777777", "#b08900")


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Compare algorithms that learn online."""

    output_dir: Path
    """Folder of all runs."""
    world: Literal["sites", "miniwob", "touch", "apps"] = "sites"
    """The embedded websites, MiniWoB++, the phone, or real applications."""
    warm_start: Path | None = None
    """Hugging Face folder of the policy that all begin with. None: where the world's warm start is made by default."""
    algorithms: tuple[str, ...] = tuple(LEARNING)
    """Names of recipe.py."""
    seeds: tuple[int, ...] = (0,)
    """Of rollouts and trainers; the tasks that are met, and their order, follow from it."""
    tries: Annotated[int, at_least(1)] = 1000
    """Rollouts of each run."""
    test_tasks: Annotated[int, at_least(1)] = 100
    """Held-out tasks of each kind."""


@dataclasses.dataclass(frozen=True)
class Arm:
    """One algorithm over all seeds: which held-out tasks were solved, by how many of the seeds."""

    name: str
    outcomes: Mapping[str, float]
    rates: Sequence[float]
    runs: Sequence[Path]


def main(config: Config) -> None:
    """Run what is missing, and show what came of all."""
    world, executor = WORLDS[config.world], Executor()
    policy = config.warm_start or world.warm_start
    if not policy.is_dir():
        raise UserError(f"{policy}: no such folder; make a warm start as {Path(__file__).name} says, or name one")
    explored, held_out = config.output_dir / "tasks.jsonl", config.output_dir / "test.jsonl"
    if not held_out.exists():
        write_tasks(explored, world.explored())
        write_tasks(held_out, world.tests(executor, config.output_dir / "made", config.test_tasks))
    with world.served(executor, False, config.output_dir / "logs" / "world.log") as where:
        for name, seed in itertools.product(config.algorithms, config.seeds):
            run = _run(config, name, seed)
            if not (run.folder / "test" / "report.json").exists():
                recipe = world.suited(made(name, policy, explored, seed))
                groups = {"num_groups": -(-config.tries // recipe.collection["group_size"])}
                collection = {**recipe.collection, **world.browsing, **world.exploring, **where, **groups}
                run_online(dataclasses.replace(recipe, collection=collection), run.folder)
    start = _test(executor, world, policy, held_out, config.output_dir / "start")
    arms = [Arm(START, start, [_mean(start)], [])]
    for name in config.algorithms:
        runs = [_run(config, name, seed) for seed in config.seeds]
        found = [
            _test(executor, world, run.version(run.newest_version()), held_out, run.folder / "test") for run in runs
        ]
        outcomes = {task: sum(each[task] for each in found) / len(found) for task in start}
        arms.append(Arm(name, outcomes, [_mean(each) for each in found], [run.folder for run in runs]))
    show(arms, config.output_dir)


def _run(config: Config, name: str, seed: int) -> OnlineRun:
    return OnlineRun(config.output_dir / f"seed-{seed}" / name)


def show(arms: Sequence[Arm], folder: Path) -> None:
    """The table, `summary.json` and `curves.png`. A change is paired by task, its interval over tasks."""
    start = arms[0].outcomes
    table = Table(["learned by"], ["tries", "success", "95 %", "change", "95 %", "minutes"])
    summary = {}
    for arm in arms:
        share, num_tasks = _mean(arm.outcomes), len(arm.outcomes)
        low, high = wilson(share, num_tasks)
        points = [read_points(run) for run in arm.runs]
        tries = sum(point.tries for run in points for point in run)
        minutes = sum(run[-1].minutes for run in points)
        change = compare(start, arm.outcomes) if arm.runs else None
        changed = (
            (f"{change.mean:+.1%}", f"{change.interval[0]:+.0%} to {change.interval[1]:+.0%}") if change else ("", "")
        )
        table.add(arm.name, str(tries), f"{share:.1%}", f"{low:.0%} to {high:.0%}", *changed, f"{minutes:.0f}")
        summary[arm.name] = {
            **{"tries_learned": tries, "success_rate": share, "rates": list(arm.rates), "minutes": minutes},
            **({"change": dataclasses.asdict(change)} if change else {}),
        }
    print_table(table)
    write_json(folder / "summary.json", summary, indent=1)
    if len(arms) > 1:
        _draw(arms, folder / "curves.png")


def _test(executor: Executor, world: World, policy: Path, tasks: Path, folder: Path) -> dict[str, float]:
    """1 of each task of `tasks` that `policy` solves, else 0."""
    report = folder / "report.json"
    if not report.exists():
        serving = ServerConfig(max_new_tokens=128)
        with (
            world.served(executor, True, folder / "logs" / "world.log") as where,
            policy_server(executor, policy, serving, ANY, folder / "logs" / "server.log") as url,
        ):
            words = python(
                "collection/run.py",
                **{"test_file": tasks, "api_localhost": url, "headless": True, **world.browsing, **where},
                **{"max_attached_imgs": 1, "temperature": 0, "judge": "oracle", "num_sessions": 12},
                **{"output_dir": folder / "trajectories", "report": report},
            )
            executor.run(Command(words, folder / "logs" / "test.log"))
    return {task: float(solved) for task, solved in read_object(report)["outcomes"].items()}


def _mean(outcomes: Mapping[str, float]) -> float:
    return sum(outcomes.values()) / len(outcomes)


def _draw(arms: Sequence[Arm], path: Path) -> None:
    """The share of tries that succeed by tries before, all seeds together, `_GROUPS_A_POINT` groups in a point."""
    with drawing(path, (9, 4.5)) as (axes,):
        for arm, colour in zip(arms[1:], itertools.cycle(_COLOURS), strict=False):
            points = [_mean_of_kinds(run) for run in arm.runs]
            least = min(map(len, points))
            at = [sum(run[number][0] for run in points) / len(points) for number in range(least)]
            shares = [100 * sum(run[number][1] for run in points) / len(points) for number in range(least)]
            axes.plot(at, shares, marker="o", color=colour, label=arm.name)
        axes.set_xlabel("tries before")
        axes.set_ylabel("tries that succeed (%)")
        axes.set_ylim(0, 100)
        axes.legend()


def _mean_of_kinds(folder: Path) -> list[tuple[int, float]]:
    """(tries before, share that succeeds) of a run, point by point. Kinds count alike, however many of a point's groups
    are theirs: some are harder, and few groups are seldom of all kinds."""
    groups = [group for path in OnlineRun(folder).groups().values() if (group := read_group(path))]
    points, tries = [], 0
    for first in range(0, len(groups), _GROUPS_A_POINT):
        rewards: dict[str, list[float]] = {}
        for group in groups[first : first + _GROUPS_A_POINT]:
            rewards.setdefault(family_of_task(group.task_id), []).extend(reward or 0.0 for reward in group.rewards)
        points.append((tries, sum(sum(own) / len(own) for own in rewards.values()) / len(rewards)))
        tries += sum(map(len, rewards.values()))
    return points


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
