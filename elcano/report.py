"""What came of a run: a table, `summary.json` and `success.png`."""

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, write_json
from common.shown import tables
from common.significance import Change, compare, wilson
from elcano.console import console

BESIDE = {
    "control": "the same training without exploration",
    "gray": "itself with gray screenshots",
    "no_tree": "itself without trees",
}
"""What may stand beside a round's policy, tested in `<run_dir>/<round>-<name>/`."""
_STEEP = 0.25
_COUNTS = {"success_rate", "num_tasks", "num_success", "num_invalid", "mean_steps"}
_SUMS = ("num_tasks", "num_success", "num_invalid", "num_blocked", "num_infeasible")


@dataclasses.dataclass(frozen=True)
class Result:
    """One policy on the test tasks. `num_invalid` of them (faults), `num_blocked` (websites turned the agent away) and
    `num_infeasible` are in `num_tasks`, but prove nothing.

    `outcomes` tells of each other task's id whether it was solved, over several runs how often. `beside` are results to
    compare it with, `rates` those of the runs that this is the mean of.
    """

    name: str
    success_rate: float
    num_tasks: int
    num_success: int
    num_invalid: int
    mean_steps: float
    num_blocked: int = 0
    num_infeasible: int = 0
    outcomes: dict[str, float] = dataclasses.field(default_factory=dict)
    beside: dict[str, "Result"] = dataclasses.field(default_factory=dict)
    rates: tuple[float, ...] = ()

    @classmethod
    def read(cls, run_dir: Path, name: str) -> "Result":
        """From the `summary.json` that `collection/evaluation/auto_eval.py` left in the round's folder."""
        path = run_dir / name / "test" / "summary.json"
        summary = read_json(path)
        if not isinstance(summary, dict) or not summary.keys() >= _COUNTS:
            raise UserError(f"{path}: not the summary of a test; elcano run with the same recipe counts again")
        fields = [field.name for field in dataclasses.fields(cls) if field.name in summary]
        beside = [other for other in BESIDE if (run_dir / f"{name}-{other}" / "test" / "summary.json").exists()]
        results = {other: cls.read(run_dir, f"{name}-{other}") for other in beside}
        return cls(name, **{field: summary[field] for field in fields}, beside=results)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's of 95 %. Tasks are what is drawn at random: several runs on the same ones make it no smaller."""
        runs = max(1, len(self.rates))
        num_left_out = self.num_invalid + self.num_blocked + self.num_infeasible
        return wilson(self.success_rate, (self.num_tasks - num_left_out) // runs)

    def to_json(self) -> dict[str, Any]:
        """Without the tasks, which stand in `<round>/test/summary.json`."""
        fields = {name: value for name, value in vars(self).items() if name not in ("outcomes", "beside", "rates")}
        beside = {other: result.to_json() for other, result in self.beside.items()}
        return {**fields, "interval": self.interval, **({"beside": beside} if beside else {})}


def mean_of(runs: Sequence[Result]) -> Result:
    """The same round of several runs, task by task; counts are sums."""
    first = runs[0]
    if len(runs) == 1:
        return first
    shared = set.intersection(*(set(run.outcomes) for run in runs))
    counts = {name: sum(getattr(run, name) for run in runs) for name in _SUMS}
    return Result(
        first.name,
        **counts,
        success_rate=statistics.fmean(run.success_rate for run in runs),
        mean_steps=statistics.fmean(run.mean_steps for run in runs),
        outcomes={task: statistics.fmean(run.outcomes[task] for run in runs) for task in shared},
        beside={
            other: mean_of([run.beside[other] for run in runs])
            for other in BESIDE
            if all(other in run.beside for run in runs)
        },
        rates=tuple(run.success_rate for run in runs),
    )


def read_results(run_dir: Path) -> list[Result]:
    """The policies of a run that were tested, in their order."""
    path = run_dir / "summary.json"
    if not path.exists():
        return []
    try:
        names = [entry["name"] for entry in read_json(path)["rounds"]]
    except (KeyError, TypeError):
        raise UserError(f"{path}: not a run's summary; delete it, and elcano run writes it again") from None
    return [Result.read(run_dir, name) for name in names]


def write_report(run_dir: Path, results: list[Result], seconds: dict[str, float], machine_s: float) -> None:
    """Write `summary.json` and `success.png`; called after each round, so that a long run shows where it stands.

    `machine_s` tells how fast this machine is (`elcano.briefing`).
    """
    summary = {
        "rounds": [_with_change(results, number) for number in range(len(results))],
        "seconds_per_stage": seconds,
        "total_seconds": round(sum(seconds.values()), 1),
        "machine_s": round(machine_s, 4),
    }
    write_json(run_dir / "summary.json", summary)
    _plot(run_dir / "success.png", results)


def _with_change(results: Sequence[Result], number: int) -> dict[str, Any]:
    change = compare(results[number - 1].outcomes, results[number].outcomes) if number else None
    return {**results[number].to_json(), **({"change": dataclasses.asdict(change)} if change else {})}


def print_table(results: Sequence[Result], seconds: dict[str, float]) -> None:
    """The table at the end of a run, and what a round changed on the tasks that both policies tried."""
    controlled = any("control" in result.beside for result in results)
    are_blocked = any(result.num_blocked for result in results)
    left_out = [*(["blocked"] if are_blocked else []), "invalid"]
    columns = ["success", "95 %", "solved", *(["control"] if controlled else []), *left_out, "steps", "minutes"]
    table = tables.Table(["round"], columns, title="Success on the test tasks, by round")
    for result in results:
        minutes = sum(spent for stage, spent in seconds.items() if stage.startswith(f"{result.name}/")) / 60
        low, high = result.interval
        spread = f" ({', '.join(f'{100 * rate:.0f}' for rate in result.rates)})" if result.rates else ""
        control = result.beside.get("control")
        table.add(
            result.name,
            f"{result.success_rate:.1%}{spread}",
            f"{100 * low:.0f}-{100 * high:.0f}",
            f"{result.num_success}/{result.num_tasks}",
            *([f"{control.success_rate:.1%}" if control else ""] if controlled else []),
            *([str(result.num_blocked)] if are_blocked else []),
            str(result.num_invalid),
            f"{result.mean_steps:.1f}",
            f"{minutes:.1f}",
        )
    tables.print_table(table, console)
    if changes := _comparisons(results):
        console.print("on the same tasks: points (95 %), tasks won:lost, p of the exact sign test")
    for what, change in changes:
        console.print(f"  {what}: {said(change)}", soft_wrap=True)


def _comparisons(results: Sequence[Result]) -> list[tuple[str, Change]]:
    """Each round against the one before and what stands beside it, and the last one against imitation."""
    pairs = []
    for before, result in itertools.pairwise(results):
        pairs.append((f"{result.name} against {before.name}", before, result))
        for other, beside in result.beside.items():
            pairs.append((f"{result.name} against {BESIDE[other]} ({beside.success_rate:.1%})", beside, result))
    if len(results) > 3:
        pairs.append((f"{results[-1].name} against {results[1].name}", results[1], results[-1]))
    changes = [(what, compare(before.outcomes, after.outcomes)) for what, before, after in pairs]
    return [(what, change) for what, change in changes if change]


def said(change: Change) -> str:
    """Such as `+12.0 (+3 to +21), 14:5, p 0.064`."""
    low, high = change.interval
    mean = f"{100 * change.mean:+.1f} ({100 * low:+.0f} to {100 * high:+.0f})"
    return f"{mean}, {change.won}:{change.lost}, p {change.p_value:.2g}"


def _plot(path: Path, results: list[Result]) -> None:
    """Success rate by round with its interval, beside it the control's."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), dpi=150)
    _line(axes, list(enumerate(results)), marker="o", linewidth=2, capsize=4, color="#14606b")
    controls = [(place + 0.1, each.beside["control"]) for place, each in enumerate(results) if "control" in each.beside]
    if controls:
        label = BESIDE["control"]
        _line(axes, controls, marker="s", linestyle="none", capsize=4, color="#c2571a", label=label)
        axes.legend(loc="lower right", frameon=False)
    where: dict[str, Any]
    for place, result in enumerate(results):
        label = f"{result.success_rate:.0%}  ({result.num_success}/{result.num_tasks})"
        rise = results[min(place + 1, len(results) - 1)].success_rate - result.success_rate
        if rise > _STEEP:  # the line would cross what stands above
            point, where = 100 * result.success_rate, {"xytext": (10, 7), "ha": "left", "va": "center"}
        else:
            point, where = 100 * result.interval[1], {"xytext": (0, 6), "ha": "center"}
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.annotate(label, (place, point), textcoords="offset points", fontsize=9, bbox=paper, zorder=3, **where)
    axes.set_xticks(range(len(results)), [result.name for result in results])
    axes.set_xlim(-0.4, len(results) - 0.6)
    axes.set_ylim(0, 110)
    axes.set_ylabel("test tasks solved (%), 95 % interval")
    axes.set_title("An agent learns to use websites, round after round")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    temporary = path.with_suffix(".tmp.png")
    figure.savefig(temporary)
    pyplot.close(figure)
    temporary.replace(path)


def _line(axes: Any, points: Sequence[tuple[float, Result]], **how: Any) -> None:
    """Success rates in per cent with their intervals."""
    places, results = zip(*points, strict=True)
    rates = [100 * result.success_rate for result in results]
    below = [rate - 100 * result.interval[0] for rate, result in zip(rates, results, strict=True)]
    above = [100 * result.interval[1] - rate for rate, result in zip(rates, results, strict=True)]
    axes.errorbar(places, rates, yerr=[below, above], **how)
