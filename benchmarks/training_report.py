"""Tables and picture of `benchmarks/training.py`."""

import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.training_jobs import Row

BASELINES = ("Hugging Face", "plain loop")


def summarize(rows: list[Row], padding: list[Row], parameters: dict[str, int]) -> dict[str, Any]:
    """Every side's medians and its ratios to the baselines of its own rounds, as JSON."""
    baselines = {(row.model, row.threads, row.name): row for row in rows if row.name in BASELINES}
    sides = []
    for row in rows:
        against = {name: _ratio(row, baselines[row.model, row.threads, name]) for name in BASELINES}
        sides.append({**_medians(row), "threads": row.threads, "times": against})
    result: dict[str, Any] = {"parameters": parameters, "sides": sides}
    if padding:
        padded, packed = padding
        speeds = zip(packed.tokens_per_s, padded.tokens_per_s, strict=True)
        ratio = statistics.median(ours / theirs for ours, theirs in speeds)
        result["padding"] = {"rows": [_medians(row) for row in padding], "packing_times_padding": ratio}
    return result


def _ratio(row: Row, baseline: Row) -> float:
    """Tokens per CPU-second, round by round."""
    pairs = zip(row.tokens_per_cpu_s, baseline.tokens_per_cpu_s, strict=True)
    return statistics.median(one / other for one, other in pairs)


def _medians(row: Row) -> dict[str, Any]:
    return {
        "model": row.model,
        "side": row.name,
        "tokens": row.tokens,
        "loss": row.loss,
        "tokens_per_s": statistics.median(row.tokens_per_s),
        "tokens_per_cpu_s": statistics.median(row.tokens_per_cpu_s),
        "seconds": row.seconds,
        "cpu_seconds": row.cpu_seconds,
    }


def print_tables(result: dict[str, Any]) -> None:
    """The sides, model by model, and packing against padding."""
    console = Console(width=110)
    for model, count in result["parameters"].items():
        sides = [side for side in result["sides"] if side["model"] == model]
        table = Table(title=f"{model}: {count / 1e6:.1f} M parameters, {sides[0]['tokens']} tokens a step")
        for title in ("", "threads", "tokens/s", "tokens/CPU-s", *(f"x {name}" for name in BASELINES)):
            table.add_column(title, justify="right" if title else "left")
        for side in sides:
            numbers = [f"{side['tokens_per_s']:.0f}", f"{side['tokens_per_cpu_s']:.0f}"]
            ratios = [f"{side['times'][name]:.2f}" for name in BASELINES]
            table.add_row(side["side"], str(side["threads"]), *numbers, *ratios)
        console.print(table)
    if "padding" in result:
        padded, packed = (row["tokens_per_s"] for row in result["padding"]["rows"])
        ratio = result["padding"]["packing_times_padding"]
        console.print(f"rows of 8192 tokens: packed {packed:.0f} tokens/s, padded {padded:.0f}: {ratio:.1f} x")


def plot(result: dict[str, Any], path: Path) -> None:
    """Ratios to Hugging Face's model, a bar for each side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    models = list(result["parameters"])
    figure, all_axes = pyplot.subplots(1, len(models), figsize=(4.5 * len(models), 3.5), squeeze=False)
    for axes, model in zip(all_axes[0], models, strict=True):
        sides = [side for side in result["sides"] if side["model"] == model and side["side"] != "Hugging Face"]
        labels = [f"{side['side']}\n{side['threads']} threads" for side in sides]
        colors = ["tab:gray" if side["side"] in BASELINES else "tab:blue" for side in sides]
        axes.barh(labels[::-1], [side["times"]["Hugging Face"] for side in sides][::-1], color=colors[::-1])
        axes.axvline(1.0, color="black", linewidth=1)
        axes.set(title=f"{model}, {result['parameters'][model] / 1e6:.0f} M", xlabel="tokens per CPU-s, x Hugging Face")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
