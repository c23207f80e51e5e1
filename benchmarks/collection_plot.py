"""Table and picture of `benchmarks/collection.py`."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Rows = list[dict[str, Any]]


def print_table(rows: Rows, observation: dict[str, float]) -> None:
    """Every row, with how many times more steps/s ours makes at the same number of sessions."""
    table = Table("sessions", "side", "steps/s", "ours x", "CPU ms/step", "MB/session", "p50 ms", "p95 ms", "failures")
    ours = {row["sessions"]: row["steps_per_s"] for row in rows if row["side"] == "ours"}
    for row in rows:
        ratio = f"{ours[row['sessions']] / row['steps_per_s']:.1f}" if row["steps_per_s"] and ours else "-"
        numbers = ("cpu_ms_per_step", "mb_per_session", "p50_ms", "p95_ms", "failures")
        table.add_row(
            str(row["sessions"]), row["side"], f"{row['steps_per_s']:.2f}", ratio, *(f"{row[n]:.0f}" for n in numbers)
        )
    console = Console(width=120)
    console.print(table)
    if observation:
        console.print("one observation of the 300-node page:", observation)


def plot(rows: Rows, path: Path) -> None:
    """Steps/s by sessions, a line per side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for side in dict.fromkeys(row["side"] for row in rows):
        points = [(row["sessions"], row["steps_per_s"]) for row in rows if row["side"] == side]
        axes.plot(*zip(*points, strict=True), marker="o", label=side)
    axes.set(xscale="log", yscale="log", xlabel="sessions at the same time", ylabel="steps per second")
    axes.set_xticks(
        sorted({row["sessions"] for row in rows}), [str(n) for n in sorted({row["sessions"] for row in rows})]
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
