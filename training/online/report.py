"""What a version came to: a line on the console, one in metrics.jsonl, TensorBoard's scalars."""

import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from training.config import Config
from training.loop.metrics import StepMetrics, has_the_loss_first
from training.online.exactness import Difference


@dataclass(frozen=True)
class Recorded:
    """A version's figures, before it is published."""

    version: int
    values: dict[str, Any]
    figures: dict[str, Any]
    num_steps: int


class OnlineReporter:
    """Writes on the first rank that has the loss, keeps silent on the others."""

    def __init__(self, config: Config) -> None:
        self.active = has_the_loss_first()
        self._since = time.monotonic()
        if self.active:
            self.writer = SummaryWriter(str(config.tensorboard_path))
            config.log_path.mkdir(parents=True, exist_ok=True)
            self.path: Path = config.log_path / "metrics.jsonl"

    def record(
        self,
        version: int,
        figures: dict[str, Any],
        apart: Difference,
        steps: Sequence[StepMetrics],
        train_s: float,
    ) -> None:
        """Version `version` was learned in `steps` from what `figures` tells of (training/online/feed.py). Before it is
        saved: one that is learned again after a kill has two equal lines in metrics.jsonl, and none has no line."""
        if not self.active:
            return
        elapsed, self._since = time.monotonic() - self._since, time.monotonic()
        values = {
            **{name: value for name, value in figures.items() if name not in ("groups", "dropped")},
            **{f"dropped {fate}": count for fate, count in figures["dropped"].items()},
            "loss": statistics.fmean(step.loss for step in steps),
            "grad_norm": statistics.fmean(step.grad_norm for step in steps),
            "lr": steps[-1].lr,
            "skipped": sum(step.skipped is not None for step in steps),
            **{name: statistics.fmean(step.statistics[name] for step in steps) for name in _shared(steps)},
            "logprob_difference": apart.mean,
            "logprob_difference_max": apart.max,
            "ratio_outside": apart.outside,
            "train_s": train_s,
            "rollouts_per_hour": 3600 * figures["rollouts"] / elapsed,
        }
        if apart.mean_of_same is not None:
            values["logprob_difference_same_weights"] = apart.mean_of_same
        self._last = Recorded(version, values, figures, len(steps))
        losses = [step.loss for step in steps]
        line = {"version": version, "groups": figures["groups"], **_finite(values), "losses": losses}
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def report(self, save_s: float, publish_s: float) -> None:
        """What was recorded last is saved and out."""
        if not self.active:
            return
        last = self._last
        print(_line(last, save_s, publish_s), flush=True)
        for name, value in {**last.values, "save_s": save_s, "publish_s": publish_s}.items():
            self.writer.add_scalar(f"online/{name.replace(' ', '_')}", value, last.version)
        self.writer.flush()

    def close(self) -> None:
        """Flush everything."""
        if self.active:
            self.writer.close()


def _line(last: Recorded, save_s: float, publish_s: float) -> str:
    values, figures = last.values, last.figures
    dropped = ", ".join(f"{count} {fate}" for fate, count in figures["dropped"].items()) or "none"
    return (
        f"version {last.version} | success {values['success']:.1%} of {figures['rollouts']} rollouts, "
        f"reward {values['reward']:.3f} | loss {values['loss']:.5f}, grad norm {values['grad_norm']:.3f}, "
        f"{figures['samples']} samples in {last.num_steps} steps | {len(figures['groups'])} groups learned, dropped: "
        f"{dropped}; {figures['waiting_groups']} waiting, lag {values['lag_mean']:.1f} (most {figures['lag_max']}) | "
        f"entropy {values['entropy']:.3f} | log-probabilities apart {values['logprob_difference']:.2g} (most "
        f"{values['logprob_difference_max']:.2g}, {values['ratio_outside']:.2%} outside [0.5, 2]) | waited "
        f"{values['wait_s']:.1f} s, made columns {values['columns_s']:.1f}, trained {values['train_s']:.1f}, saved "
        f"{save_s:.1f}, published {publish_s:.2f} | "
        f"{values['rollouts_per_hour']:.0f} rollouts/h"
    )


def _shared(steps: Sequence[StepMetrics]) -> list[str]:
    """The statistics that every step has."""
    return [name for name in steps[0].statistics if all(name in step.statistics for step in steps)]


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
