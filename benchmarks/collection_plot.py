"""Table and picture of `benchmarks/collection.py`."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Rows = list[dict[str, Any]]


def print_table(rows: Rows, observation: dict[str, float]) -> None:
    """Every row, with how many times more it takes, of time and of CPU, than ours at the same number of sessions.

    On a busy machine trust the CPU: sides are measured one after the other, and others come and go meanwhile.
    """
    table = Table("sessions", "side", "steps/s", "ours x", "CPU ms/step", "ours x")
    for title in ("MB/session", "p50 ms", "p95 ms", "failures"):
        table.add_column(title)
    ours = {row["sessions"]: row for row in rows if row["side"] == "ours"}
    for row in rows:
        base = ours.get(row["sessions"])
        comparable = base and row["steps_per_s"] and base["cpu_ms_per_step"]
        speed = f"{base['steps_per_s'] / row['steps_per_s']:.1f}" if comparable else "-"
        cpu = f"{row['cpu_ms_per_step'] / base['cpu_ms_per_step']:.1f}" if comparable else "-"
        rest = (f"{row[name]:.0f}" for name in ("mb_per_session", "p50_ms", "p95_ms", "failures"))
        measured = (f"{row['steps_per_s']:.2f}", speed, f"{row['cpu_ms_per_step']:.0f}", cpu, *rest)
        table.add_row(str(row["sessions"]), row["side"], *measured)
    console = Console(width=120)
    console.print(table)
    for row in rows:
        if row["side"] == "ours":
            console.print(f"our CPU ms/step with {row['sessions']} sessions:", row["cpu_ms_by_process"])
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
