"""Table and picture of `benchmarks/collection.py`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.collection_sides import Row
from benchmarks.figures import Figure, Load
from common.shown import tables
from common.shown.drawing import drawing


@dataclasses.dataclass(frozen=True)
class Summary:
    """A side at one number of sessions, over the repeats; how many times as much time and CPU as ours a step takes."""

    side: str
    sessions: int
    steps_per_s: Figure
    cpu_ms_per_step: Figure
    mb_per_session: Figure
    p50_ms: Figure
    p95_ms: Figure
    failures: int
    cpu_ms_by_process: dict[str, float]
    time_x_ours: Figure | None
    cpu_x_ours: Figure | None


def summarize(turns: Sequence[Sequence[Row]]) -> list[Summary]:
    """Of every repeat's rows, side by side."""
    by_side = {rows[0].side: rows for rows in zip(*turns, strict=True)}
    return [_summary(rows, by_side.get("ours")) for rows in by_side.values()]


def _summary(rows: Sequence[Row], ours: Sequence[Row] | None) -> Summary:
    def values(name: str, of: Sequence[Row] = rows) -> list[float]:
        return [getattr(row, name) for row in of]

    time = cpu = None
    if ours and all(values("steps_per_s")) and all(values("cpu_ms_per_step", ours)):
        time = Figure.times(values("steps_per_s", ours), values("steps_per_s"))
        cpu = Figure.times(values("cpu_ms_per_step"), values("cpu_ms_per_step", ours))
    names = ("steps_per_s", "cpu_ms_per_step", "mb_per_session", "p50_ms", "p95_ms")
    figures = [Figure.of(values(name)) for name in names]
    last, failures = rows[-1], sum(row.failures for row in rows)
    return Summary(last.side, last.sessions, *figures, failures, last.cpu_ms_by_process, time, cpu)


def print_table(rows: Sequence[Summary], observation: dict[str, Figure], load: Load) -> None:
    """Every row. On a busy machine trust the CPU: sides are measured one after the other, and others come and go."""
    columns = ("sessions", "steps/s", "ours x", "CPU ms/step", "ours x", "MB/session", "p50 ms", "p95 ms", "failures")
    table = tables.Table(["side"], columns)
    for row in rows:
        speed, cpu = ("-" if one is None else str(one) for one in (row.time_x_ours, row.cpu_x_ours))
        figures = (row.steps_per_s, speed, row.cpu_ms_per_step, cpu, row.mb_per_session, row.p50_ms, row.p95_ms)
        table.add(row.side, str(row.sessions), *map(str, figures), str(row.failures))
    console = Console()
    tables.print_table(table, console)
    for row in rows:
        if row.side == "ours":
            console.print(f"our CPU ms/step with {row.sessions} sessions, last repeat:", row.cpu_ms_by_process)
    if observation:
        said = ", ".join(f"{name} {figure}" for name, figure in observation.items())
        console.print(f"one observation of the 300-node page: {said}")
    console.print(str(load))


def plot(rows: Sequence[Summary], path: Path) -> None:
    """Steps/s by sessions, a line per side, with the range of the repeats."""
    with drawing(path, (7, 4.5)) as [axes]:
        for side in dict.fromkeys(row.side for row in rows):
            points = [(row.sessions, row.steps_per_s) for row in rows if row.side == side]
            sessions, speeds = zip(*points, strict=True)
            below, above = [one.median - one.lowest for one in speeds], [one.highest - one.median for one in speeds]
            axes.errorbar(sessions, [one.median for one in speeds], [below, above], marker="o", capsize=3, label=side)
        counts = sorted({row.sessions for row in rows})
        axes.set(xscale="log", yscale="log", xlabel="sessions at the same time", ylabel="steps per second")
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.grid(alpha=0.3)
        axes.legend()
