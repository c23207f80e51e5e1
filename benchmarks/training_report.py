"""Tables and picture of `benchmarks/training.py`."""

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.figures import Figure, Load
from benchmarks.training_jobs import Row
from common.shown.drawing import drawing
from common.shown.tables import Table, print_table

BASELINES = ("Hugging Face", "plain loop")


def summarize(rows: list[Row], padding: dict[str, list[Row]], parameters: dict[str, int], load: Load) -> dict[str, Any]:
    """Every side's figures and its ratios to the baselines, round by round, as JSON."""
    baselines = {(row.model, row.threads, row.name): row for row in rows if row.name in BASELINES}
    sides = []
    for row in rows:
        against = {
            name: _figure(Figure.times(row.tokens_per_cpu_s, baselines[row.model, row.threads, name].tokens_per_cpu_s))
            for name in BASELINES
        }
        sides.append({**_figures(row), "threads": row.threads, "times": against})
    result: dict[str, Any] = {"load": dataclasses.asdict(load), "parameters": parameters, "sides": sides}
    result["padding"] = {lengths: _padding(found) for lengths, found in padding.items()}
    return result


def _padding(rows: list[Row]) -> list[dict[str, Any]]:
    """Each way with how many times as fast the last one is: packing, of whole trajectories where there are any."""
    return [
        {
            **_figures(row),
            "work": row.work,
            "computed": row.computed,
            "packing_times": _figure(Figure.times(rows[-1].tokens_per_s, row.tokens_per_s)),
            "packing_times_per_cpu_s": _figure(Figure.times(rows[-1].tokens_per_cpu_s, row.tokens_per_cpu_s)),
        }
        for row in rows
    ]


def _figures(row: Row) -> dict[str, Any]:
    return {
        "model": row.model,
        "side": row.name,
        "tokens": row.tokens,
        "loss": row.loss,
        "tokens_per_s": _figure(Figure.of(row.tokens_per_s)),
        "tokens_per_cpu_s": _figure(Figure.of(row.tokens_per_cpu_s)),
    }


def _figure(figure: Figure) -> dict[str, float]:
    return dataclasses.asdict(figure)


def _text(figure: dict[str, float]) -> str:
    return str(Figure(**figure))


def print_tables(result: dict[str, Any]) -> None:
    """The sides, model by model, and packing against padding."""
    console = Console()
    for model, count in result["parameters"].items():
        sides = [side for side in result["sides"] if side["model"] == model]
        title = f"{model}: {count / 1e6:.1f} M parameters, {sides[0]['tokens']} tokens a step"
        figures = ("threads", "tokens/s", "tokens/CPU-s", *(f"x {name}" for name in BASELINES))
        table = Table([""], figures, title=title)
        for side in sides:
            numbers = [_text(side["tokens_per_s"]), _text(side["tokens_per_cpu_s"])]
            table.add(side["side"], str(side["threads"]), *numbers, *(_text(side["times"][name]) for name in BASELINES))
        print_table(table, console)
    for lengths, rows in result["padding"].items():
        title = f"lengths of {lengths}: {rows[0]['tokens']} tokens, each once"
        figures = ("computed", "tokens/s", "the last is times as fast", "per CPU-s", "busiest / mean")
        table = Table([""], figures, title=title)
        for row in rows:
            work = f"{row['work']:.3f}" if row["work"] else ""
            times = (_text(row[name]) for name in ("packing_times", "packing_times_per_cpu_s"))
            table.add(row["side"], str(row["computed"]), _text(row["tokens_per_s"]), *times, work)
        print_table(table, console)
    console.print(str(Load(**result["load"])))


def plot(result: dict[str, Any], path: Path) -> None:
    """Ratios to Hugging Face's model, a bar for each side."""
    models = list(result["parameters"])
    with drawing(path, (4.5 * len(models), 3.5), len(models)) as all_axes:
        for axes, model in zip(all_axes, models, strict=True):
            sides = [
                side for side in result["sides"][::-1] if side["model"] == model and side["side"] != "Hugging Face"
            ]
            labels = [f"{side['side']}\n{side['threads']} threads" for side in sides]
            colors = ["tab:gray" if side["side"] in BASELINES else "tab:blue" for side in sides]
            axes.barh(labels, [side["times"]["Hugging Face"]["median"] for side in sides], color=colors)
            axes.axvline(1.0, color="black", linewidth=1)
            millions = result["parameters"][model] / 1e6
            axes.set(title=f"{model}, {millions:.0f} M", xlabel="tokens per CPU-s, x Hugging Face")
