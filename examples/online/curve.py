"""Draw how runs of one recipe learned: python examples/online/curve.py runs/grpo-0 runs/grpo-1 --output curve.png

A point is a version of the weights: the tries that it learned from or that were dropped, of all runs together, with the
95 % interval by Wilson. Thin lines are the single runs.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tyro

from common import cli
from common.errors import UserError
from common.significance import wilson


@dataclasses.dataclass(frozen=True)
class Config:
    """Draw the share of tries that succeed, by tries and by minutes."""

    runs: tyro.conf.Positional[tuple[str, ...]]
    """Folders of online runs that began with the same policy."""
    output: str = "curve.png"
    """The picture."""


@dataclasses.dataclass(frozen=True)
class Point:
    """What a version was learned from, and how many tries and minutes lay behind when it was learned."""

    solved: int
    tries: int
    tries_before: int
    minutes: float


def read_points(run: Path) -> list[Point]:
    """From the trainer's metrics.jsonl. One that was learned again after a kill has two lines; the last counts."""
    path = run / "trainer" / "log" / "online" / "metrics.jsonl"
    if not path.is_file():
        raise UserError(f"{path}: no such file; is {run} the folder of an online run that learned?")
    lines = {line["version"]: line for line in map(json.loads, path.read_text().splitlines())}
    points, tries, seconds = [], 0, 0.0
    for version in sorted(lines):
        line = lines[version]
        seconds += line["wait_s"] + line.get("columns_s", 0.0) + line["train_s"]
        points.append(Point(round(line["success"] * line["rollouts"]), line["rollouts"], tries, seconds / 60))
        tries += line["rollouts"]
    return points


def main(config: Config) -> None:
    """Draw, and say the first and the last three versions in numbers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runs = [read_points(Path(run)) for run in config.runs]
    runs = [run[: min(map(len, runs))] for run in runs]  # versions that all of them have
    figure, places = pyplot.subplots(1, 2, figsize=(10, 4.2), dpi=150, sharey=True)
    for axes, name, where in zip(places, ("tries", "minutes"), (_tries, _minutes), strict=True):
        _draw(axes, runs, where)
        axes.set_xlabel(f"{name} of a run")
    places[0].set_ylim(0, 100)
    places[0].set_ylabel("tries that succeed (%), 95 % interval")
    figure.tight_layout()
    figure.savefig(config.output)
    for name, part in (("first", slice(3)), ("last", slice(-3, None))):
        solved, tries = (
            sum(getattr(point, what) for run in runs for point in run[part]) for what in ("solved", "tries")
        )
        low, high = wilson(solved / tries, tries)
        print(f"{name} three versions of {len(runs)} runs: {solved} of {tries} tries, {low:.1%} to {high:.1%}")


def _tries(point: Point) -> float:
    return point.tries_before + point.tries / 2


def _minutes(point: Point) -> float:
    return point.minutes


def _draw(axes: Any, runs: Sequence[Sequence[Point]], where: Callable[[Point], float]) -> None:
    for run in runs:
        axes.plot(
            [where(each) for each in run], [100 * each.solved / each.tries for each in run], color="#9cc3c8", lw=1
        )
    versions = list(zip(*runs, strict=True))
    tries = [sum(point.tries for point in row) for row in versions]
    shares = [sum(point.solved for point in row) / count for row, count in zip(versions, tries, strict=True)]
    bounds = [wilson(share, count) for share, count in zip(shares, tries, strict=True)]
    axes.errorbar(
        [sum(map(where, row)) / len(row) for row in versions],
        [100 * share for share in shares],
        yerr=[[100 * abs(bound[side] - share) for bound, share in zip(bounds, shares, strict=True)] for side in (0, 1)],
        **{"marker": "o", "linewidth": 2, "capsize": 3, "color": "#14606b"},
    )
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
