"""What a version came to: a line on the console, one in metrics.jsonl, TensorBoard's scalars."""

import json
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from training.config import Config
from training.loop.metrics import StepMetrics, has_the_loss_first
from training.online.exactness import Difference


class OnlineReporter:
    """Writes on the first rank that has the loss, keeps silent on the others."""

    def __init__(self, config: Config) -> None:
        self.active = has_the_loss_first()
        self._since = time.monotonic()
        if self.active:
            self.writer = SummaryWriter(str(config.tensorboard_path))
            config.log_path.mkdir(parents=True, exist_ok=True)
            self.path: Path = config.log_path / "metrics.jsonl"

    def report(
        self,
        version: int,
        figures: dict[str, Any],
        apart: Difference,
        steps: Sequence[StepMetrics],
        train_s: float,
        publish_s: float,
    ) -> None:
        """Weights `version` are out, learned in `steps` from what `figures` tells of (training/online/feed.py)."""
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
            "publish_s": publish_s,
            "rollouts_per_hour": 3600 * figures["rollouts"] / elapsed,
        }
        if apart.mean_of_same is not None:
            values["logprob_difference_same_weights"] = apart.mean_of_same
        print(_line(version, values, figures, len(steps)), flush=True)
        for name, value in values.items():
            self.writer.add_scalar(f"online/{name.replace(' ', '_')}", value, version)
        self.writer.flush()
        losses = [step.loss for step in steps]
        with open(self.path, "a") as file:
            file.write(
                json.dumps({"version": version, "groups": figures["groups"], **_finite(values), "losses": losses})
                + "\n"
            )

    def close(self) -> None:
        """Flush everything."""
        if self.active:
            self.writer.close()


def _line(version: int, values: dict[str, Any], figures: dict[str, Any], num_steps: int) -> str:
    dropped = ", ".join(f"{count} {fate}" for fate, count in figures["dropped"].items()) or "none"
    return (
        f"version {version} | success {values['success']:.1%} of {figures['rollouts']} rollouts, "
        f"reward {values['reward']:.3f} | loss {values['loss']:.5f}, grad norm {values['grad_norm']:.3f}, "
        f"{figures['samples']} samples in {num_steps} steps | {len(figures['groups'])} groups learned, dropped: "
        f"{dropped}; {figures['waiting_groups']} waiting, lag {values['lag_mean']:.1f} (most {figures['lag_max']}) | "
        f"entropy {values['entropy']:.3f} | log-probabilities apart {values['logprob_difference']:.2g} (most "
        f"{values['logprob_difference_max']:.2g}, {values['ratio_outside']:.2%} outside [0.5, 2]) | waited "
        f"{values['wait_s']:.1f} s, trained {values['train_s']:.1f}, published {values['publish_s']:.2f} | "
        f"{values['rollouts_per_hour']:.0f} rollouts/h"
    )


def _shared(steps: Sequence[StepMetrics]) -> list[str]:
    """The statistics that every step has."""
    return [name for name in steps[0].statistics if all(name in step.statistics for step in steps)]


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
