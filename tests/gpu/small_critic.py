"""A small critic fitted to random features of a model: `python -m tests.gpu.small_critic --output small_critic.json`.

Fitted and asked as `training/feature_critic.sh` does, without reading its files.
"""

import dataclasses
import tempfile
import time
from pathlib import Path

import torch

from common import cli
from common.files import write_json
from tests.training.rewarded import trajectory
from training.critics.feature_critic import FeatureCriticConfig, Fitting

_STEPS = 8  # of a try


@dataclasses.dataclass(frozen=True)
class Config:
    """Fit a small critic."""

    num_samples: int = 4096
    """Steps of tries, half of which succeed."""
    num_features: int = 4096
    """Width of the model."""
    train_iters: int = 500
    """Optimizer steps."""
    output: Path = Path("small_critic.json")
    """Receives the numbers."""


def main(config: Config) -> None:
    """Fit, then ask the critic that is fitted."""
    tries = [trajectory(f"task{n}", 0, n % 2, _STEPS) for n in range(config.num_samples // _STEPS)]
    states, actions = torch.randn(2, len(tries) * _STEPS, config.num_features)
    with tempfile.TemporaryDirectory() as name:
        nothing, critic = Path(name), Path(name) / "critic.pt"
        options = FeatureCriticConfig(nothing, nothing, critic, nothing, train_iters=config.train_iters)
        fitting = Fitting(options, {}, config.num_features)
        seconds = []
        for _ in range(2):  # the second time it is fitted already
            begin = time.perf_counter()
            fitting.finish(tries, states, actions)
            seconds.append(time.perf_counter() - begin)
    found = {
        **{"samples": len(states), "features": config.num_features, "iterations": config.train_iters},
        **{"device": str(fitting.device), "batch_size": options.batch_size, "fit_seconds": seconds[0] - seconds[1]},
        "fitted_samples_per_s": config.train_iters * options.batch_size / (seconds[0] - seconds[1]),
        "judged_samples_per_s": len(states) / seconds[1],
    }
    write_json(config.output, found)
    print(found)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
