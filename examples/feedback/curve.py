"""Success by round of several runs in one picture, with what exploration found: S@1 ... S@k and F@1 by round.

python examples/feedback/curve.py --runs runs/feedback runs/feedback-noisy --labels "judge is right" "1 in 10 wrong" \
    --plot docs/results/feedback.png --summary docs/results/feedback_summary.json
"""

import dataclasses
from pathlib import Path
from typing import Any

from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from common.shown.drawing import drawing
from common.shown.tables import Table, print_table
from common.significance import wilson

COLOURS = ("#14606b", "#c2571a", "#6b4c9a", "#777777")


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare runs."""

    runs: tuple[Path, ...]
    """Output folders of `elcano run`."""
    labels: tuple[str, ...]
    """What to call each."""
    plot: Path
    """The PNG to write."""
    summary: Path
    """The JSON file to write."""


def main(config: Config) -> None:
    """Read, write, print the tables."""
    if len(config.runs) != len(config.labels):
        raise UserError(f"--runs names {len(config.runs)} folders, --labels {len(config.labels)}")
    runs = {label: read_run(run) for label, run in zip(config.labels, config.runs, strict=True)}
    write_json(config.summary, runs)
    draw(runs, config.plot)
    for label, rounds in runs.items():
        print_rounds(label, rounds)


def read_run(run: Path) -> list[dict[str, Any]]:
    """One entry a round: its test result, and `exploration` where the agent explored."""
    rounds = read_json(run / "summary.json")["rounds"]
    for entry in rounds:
        explored = run / entry["name"] / "trajectories" / "exploration.json"
        if explored.exists():
            entry["exploration"] = read_json(explored)
    return rounds


def draw(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Success on the test tasks by round, a line a run, with intervals of 95 %."""
    with drawing(path, (7, 4.2)) as [axes]:
        for number, ((label, rounds), colour) in enumerate(zip(runs.items(), COLOURS, strict=False)):
            rates = [entry["success_rate"] for entry in rounds]
            percent = [100 * rate for rate in rates]
            intervals = [wilson(rate, entry["num_tasks"]) for rate, entry in zip(rates, rounds, strict=True)]
            below = [100 * (rate - low) for rate, (low, _) in zip(rates, intervals, strict=True)]
            above = [100 * (high - rate) for rate, (_, high) in zip(rates, intervals, strict=True)]
            places = [place + 0.08 * number for place in range(len(rounds))]  # side by side, for the bars to be seen
            axes.errorbar(places, percent, [below, above], marker="o", capsize=4, color=colour, label=label)
            side, align = (6, "left") if number else (-6, "right")
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            for place, rate in zip(places, percent, strict=True):
                axes.annotate(
                    f"{rate:.0f} %",
                    (place, rate),
                    textcoords="offset points",
                    xytext=(side, 0),
                    ha=align,
                    va="center",
                    color=colour,
                    fontsize=9,
                    bbox=paper,
                )
        names = [entry["name"] for entry in next(iter(runs.values()))]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.5, len(names) - 0.4)
        axes.set_ylim(0, 100)
        axes.set_yticks(range(0, 101, 20))
        axes.set_ylabel("test tasks solved (%)")
        axes.set_title("Exploration, feedback, optimization: three rounds")
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="lower right", frameon=False)


def print_rounds(label: str, rounds: list[dict[str, Any]]) -> None:
    """One line a round."""
    shares = next((name for entry in rounds for name in [list(entry.get("exploration", {}))] if name), [])
    shares = [name for name in shares if "@" in name]
    table = Table(["round"], ["test", "solved", "invalid", *shares], title=label)
    for entry in rounds:
        explored = entry.get("exploration", {})
        counts = [f"{entry['success_rate']:.1%}", f"{entry['num_success']}/{entry['num_tasks']}"]
        found = [f"{explored[name]:.1%}" if name in explored else "" for name in shares]
        table.add(entry["name"], *counts, str(entry["num_invalid"]), *found)
    print_table(table)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
