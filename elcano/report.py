"""What came of a run: a table, `summary.json` and `success.png`."""

import dataclasses
from pathlib import Path
from typing import Any

from rich.table import Table

from common.files import write_json
from elcano.console import console


@dataclasses.dataclass(frozen=True)
class Result:
    """One policy on the test tasks. `num_invalid` trajectories (faults) are in `num_tasks` but prove nothing."""

    name: str
    success_rate: float
    num_tasks: int
    num_success: int
    num_invalid: int
    mean_steps: float

    @classmethod
    def from_summary(cls, name: str, summary: dict[str, Any]) -> "Result":
        """From the `summary.json` that `collection/evaluation/auto_eval.py` writes."""
        fields = [field.name for field in dataclasses.fields(cls) if field.name != "name"]
        return cls(name, **{field: summary[field] for field in fields})


def write_report(run_dir: Path, results: list[Result], seconds: dict[str, float]) -> None:
    """Write `summary.json` and `success.png`; called after each round, so that a long run shows where it stands."""
    summary = {
        "rounds": [dataclasses.asdict(result) for result in results],
        "seconds_per_stage": seconds,
        "total_seconds": round(sum(seconds.values()), 1),
    }
    write_json(run_dir / "summary.json", summary)
    _plot(run_dir / "success.png", results)


def print_table(results: list[Result], seconds: dict[str, float]) -> None:
    """The table at the end of a run."""
    table = Table(title="Success on the test tasks, by round")
    table.add_column("round")
    for title in ("success rate", "succeeded", "tasks", "invalid", "mean steps", "minutes"):
        table.add_column(title, justify="right")
    for result in results:
        minutes = sum(spent for stage, spent in seconds.items() if stage.startswith(f"{result.name}/")) / 60
        table.add_row(
            result.name,
            f"{result.success_rate:.1%}",
            str(result.num_success),
            str(result.num_tasks),
            str(result.num_invalid),
            f"{result.mean_steps:.1f}",
            f"{minutes:.1f}",
        )
    console.print(table)


def _plot(path: Path, results: list[Result]) -> None:
    """Success rate by round, with the standard error of a proportion."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rates = [100 * result.success_rate for result in results]
    errors = [
        100 * (result.success_rate * (1 - result.success_rate) / max(result.num_tasks, 1)) ** 0.5 for result in results
    ]
    figure, axes = pyplot.subplots(figsize=(7, 4.2), dpi=150)
    axes.errorbar(range(len(results)), rates, yerr=errors, marker="o", linewidth=2, capsize=4, color="#14606b")
    for position, (rate, error, result) in enumerate(zip(rates, errors, results, strict=True)):
        label = f"{rate:.0f} %  ({result.num_success}/{result.num_tasks})"
        place = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center", "fontsize": 9}
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # a steep line must not cross the figures
        axes.annotate(label, (position, rate + error), bbox=paper, zorder=3, **place)
    axes.set_xticks(range(len(results)), [result.name for result in results])
    axes.set_xlim(-0.4, len(results) - 0.6)
    axes.set_ylim(0, 110)
    axes.set_ylabel("test tasks solved (%)")
    axes.set_title("An agent learns to use websites, round after round")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    temporary = path.with_suffix(".tmp.png")
    figure.savefig(temporary)
    pyplot.close(figure)
    temporary.replace(path)
