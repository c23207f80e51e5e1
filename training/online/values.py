"""A small critic's values of steps, fitted anew for each version to the groups at hand.

It reads hidden states of the policy that the run began with, which stay the same, so that each step is read once.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from megatron.core.transformer.module import Float16Module

from common.errors import UserError
from data.adapter_record import read_adapter_record
from data.checkpoint_folder import find_weights
from models.family import Family
from training.checkpoints import checkpoint
from training.config import Config
from training.critics.feature_critic import FeatureCriticConfig, Fitting
from training.critics.feature_networks import Target
from training.critics.make_columns import monte_carlo_values
from training.critics.scoring import give_hidden_states
from training.modules.registry import model_class
from training.online.dealing import Dealer
from training.online.group import Tries
from training.samples.experience import RewardedTrajectory


@dataclasses.dataclass(frozen=True)
class CriticOptions:
    """As of feature_critic.sh, but for `folder`: where it is kept while it is fitted."""

    target: Target
    folds: int
    train_iters: int
    width: int
    lr: float
    seed: int
    folder: Path


class Critic:
    """Every rank holds its part of the model that is read; the first one fits."""

    def __init__(self, config: Config, kind: Family, hf: Any, dealer: Dealer, options: CriticOptions) -> None:
        """A collective."""
        weights, _ = find_weights(config.pretrain_checkpoint_path)
        record = read_adapter_record(weights)
        trainable = dataclasses.replace(config.trainable, lora=record.lora if record else None)
        model = model_class(kind)(hf, config.layout, trainable, None).eval()
        checkpoint.load_model([model], weights)
        give_hidden_states(model)
        self.chunk: Any = Float16Module(model.config, model) if config.layout.bf16 else model
        self.seq_len, self.dealer, self.options = config.seq_len, dealer, options
        self._features: dict[str, torch.Tensor] = {}

    def values(self, trajectories: Sequence[RewardedTrajectory], version: int) -> list[dict[str, np.ndarray]]:
        """[n] by column of each trajectory of the groups that were read; on the first rank alone.

        Raises:
            UserError: of one trajectory, of which nothing can be expected.
        """
        keys = [key for one in trajectories for key in one.keys]
        features = torch.stack([self._features[key] for key in keys])
        try:
            found = self._fitting(version, keys, features.size(2)).finish(trajectories, features[:, 0], features[:, 1])
        except UserError as error:
            print(
                f"version {version}: the critic cannot be fitted ({error}); the tries' mean outcomes stand in",
                flush=True,
            )
            return _mean_outcomes(trajectories)
        ends = np.cumsum([len(one.keys) for one in trajectories])[:-1]
        parts = {name: np.split(value.double().numpy(), ends) for name, value in found.items()}
        return [{name: parts[name][number] for name in parts} for number in range(len(trajectories))]

    def read(self, groups: Sequence[Tries]) -> None:
        """Features of the steps that are not read yet; those of steps that are gone are forgotten. Group by group, so
        that they are the same to the bit when a run goes on after a kill. A collective."""
        states = {key: state for group in groups for key, state in group.states.items()}
        self._features = {key: value for key, value in self._features.items() if key in states}
        unread = [group for group in groups if not group.states.keys() <= self._features.keys()]
        for number in range(self.dealer.told(len(unread))):
            given = list(unread[number].states.values()) if self.dealer.is_first else None
            self._features |= self.dealer.outputs([self.chunk], given, self.seq_len)

    def _fitting(self, version: int, keys: Sequence[str], num_features: int) -> Fitting:
        """Kept in a file of its own, of which only the newest stays; other options begin another."""
        options = self.options
        options.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256("\n".join([str(options), *keys]).encode()).hexdigest()[:12]
        path = options.folder / f"{version:06d}-{digest}.pt"
        for other in options.folder.glob("*.pt"):
            if other != path:
                other.unlink()
        config = FeatureCriticConfig(
            **{"dataset_path": options.folder, "features": options.folder, "output": options.folder, "critic": path},
            **{name: getattr(options, name) for name in ("target", "folds", "train_iters", "width", "lr", "seed")},
        )
        return Fitting(config, {"samples": digest}, num_features)


def _mean_outcomes(trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
    return [{**each, "q_1": each["value_1"], "q_2": each["value_1"]} for each in monte_carlo_values(trajectories)]
