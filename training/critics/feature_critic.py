"""A small critic on frozen features: fit it to a data set, and write its values of every sample as columns.

    bash training/score.sh --write features --checkpoint mg --dataset_path shards --output features.parquet
    bash training/feature_critic.sh --dataset_path shards --features features.parquet --critic c.pt --output q.parquet

Columns: q_1, q_2, value_1, value_2, with --target monte_carlo also instruction_value. What is fitted, and how:
training/critics/feature_networks.py. The critic stays in its file; when it is fitted already, also to another data set,
its values are written as they are. A killed command is given again, and goes on.

A few hundred tries are soon known by heart: their values are then their outcomes, and their advantages nothing.
--folds 5 fits five critics, each without a fifth of the tries, and takes a try's values from the one that has not seen
it (cross-fitting: Chernozhukov et al. 2018, arXiv 1608.00060); of tries that none has seen, the mean of all five.
"""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow
import torch

from common import cli
from common.errors import UserError
from common.files import file_digest, make_folder
from common.options.limits import Checked, above, at_least, between
from common.progress import Reporter
from common.seeds import draw
from data.shards.columns import OUTCOME, REWARD, ColumnFiles, is_written, print_columns, read_record, write_columns
from data.shards.shard import read_manifest
from training.algorithms.critic import check_outcomes
from training.checkpoints.state_file import read_state
from training.config import parse_with_environment
from training.critics.feature_networks import FeatureCritic, Target, Transitions
from training.launch.foreign_tars import shards_to_read
from training.samples.experience import RewardedTrajectory, read_experience

FEATURES = ("state_features", "action_features")
_SAVED_EVERY = 100  # steps
_SINCE = ("samples", "seq_len", "image_num", "pr", "after_question")
"""What critics of before do not say of themselves."""


@dataclasses.dataclass(frozen=True)
class FeatureCriticConfig(Checked):
    """Q and V of Digi-Q, V_step and V_instr of DigiRL, on a model's frozen features."""

    dataset_path: Path
    """Folder of webdataset shards with rewards, or of tars that others made."""
    features: Path
    """Parquet file that `score.sh --write features` wrote of them."""
    critic: Path
    """The file that keeps the critic."""
    output: Path
    """The Parquet file of values to write."""
    target: Target = "td"
    """Bootstrapped returns (Digi-Q), or outcomes (DigiRL)."""
    gamma: Annotated[float, between(0, 1)] = 0.95
    """Discount, with td."""
    tau: Annotated[float, between(0, 1)] = 0.1
    """How far the slow copies follow in a step, with td."""
    lr: Annotated[float, above(0)] = 1e-4
    """Of Adam."""
    train_iters: Annotated[int, at_least(1)] = 2000
    """Optimizer steps."""
    batch_size: Annotated[int, at_least(1)] = 128
    """Steps of trajectories in one of them."""
    width: Annotated[int, at_least(1)] = 512
    """Units of the two hidden layers."""
    folds: Annotated[int, at_least(1)] = 1
    """Critics, each fitted without its part of the tries, which it then judges; 1: one of all, for all."""
    seed: int = 0
    """Of initial weights, batches and folds."""

    def fitting(self) -> dict[str, Any]:
        """What a critic's weights depend on, beside the data and the policy."""
        own = ("target", "gamma", "tau", "lr", "train_iters", "batch_size", "width", "seed")
        several = {"folds": self.folds} if self.folds > 1 else {}  # files from before there were folds have none
        return {**{name: getattr(self, name) for name in own}, **several}


def main(config: FeatureCriticConfig) -> None:
    """Read everything, fit what is not fitted yet, write the file and say what is in it."""
    config = dataclasses.replace(config, dataset_path=shards_to_read(config.dataset_path))
    read_manifest(config.dataset_path)
    files = ColumnFiles([config.features], (), FEATURES)
    if missing := [name for name in FEATURES if name not in files]:
        raise UserError(f"{config.features}: has no column {missing[0]}; make it with score.sh --write features")
    make_folder(config.critic.absolute().parent, "the folder of --critic")
    if config.output.absolute() == config.critic.absolute():
        raise UserError(f"{config.output}: is --critic, too; give values and critic a file each")
    record = made_with(config)
    made_of = {**config.fitting(), **record}
    if record["policy"] and not record["after_question"]:
        made_of["critic_of"] = record["policy"]  # a representation is another model than the policy that trains
    if is_written(config.output, made_of):
        return
    trajectories = read_experience(config.dataset_path, files, ())
    keys = [key for trajectory in trajectories for key in trajectory.keys]
    states, actions = (features(files, name, keys) for name in FEATURES)
    values = Fitting(config, record, states.size(1)).finish(trajectories, states, actions)
    digests = [digest for trajectory in trajectories for digest in trajectory.digests]
    rewards = np.concatenate([trajectory.earned for trajectory in trajectories])
    outcomes = np.concatenate([np.full(len(each.keys), each.outcome) for each in trajectories])
    numbers = {REWARD: rewards, OUTCOME: outcomes, **values}
    columns = {"id": keys, "digest": digests, **{name: value.tolist() for name, value in numbers.items()}}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    texts = {"id": pyarrow.string(), "digest": pyarrow.string()}
    schema = pyarrow.schema({**texts, **dict.fromkeys(numbers, pyarrow.float64())})
    write_columns(config.output, [rows], schema, made_of)
    print_columns(config.output)


def made_with(config: FeatureCriticConfig) -> dict[str, Any]:
    """What a critic is fitted to: the data set, its features, and how these were taken."""
    said = read_record(config.features) or {}
    taken = {name: said.get(name) for name in ("policy", "seq_len", "image_num", "pr")}
    taken["after_question"] = said.get("after_question", False)
    samples = file_digest(config.dataset_path / "manifest.json")
    return {"features": file_digest(config.features), "samples": samples, **taken}


def features(files: ColumnFiles, name: str, keys: Sequence[str]) -> torch.Tensor:
    """Of samples, in their order: [n, h]"""
    rows = [files.of_tokens(name, key) for key in keys]
    for key, row in zip(keys, rows, strict=True):
        if len(row) != len(rows[0]):
            raise UserError(f"sample {key}: has {len(row)} {name}, sample {keys[0]} has {len(rows[0])}")
    return torch.from_numpy(np.stack(rows))


class Fitting:
    """The critics of all folds and how far they are, kept in a file."""

    def __init__(self, config: FeatureCriticConfig, record: dict[str, Any], num_features: int) -> None:
        """
        Raises:
            UserError: the file holds a critic of another policy, or that was fitted otherwise or to other features.
        """
        self.config, self.record = config, {**config.fitting(), **record}
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(config.seed)
        critics = (FeatureCritic(num_features, config.width) for _ in range(config.folds))
        self.critics = torch.nn.ModuleList(critics).to(self.device)
        self.optimizer = torch.optim.Adam(self.critics.parameters(), lr=config.lr, fused=True)
        self.generator, self.step = torch.Generator().manual_seed(config.seed), 0
        self.seen: dict[str, float | None] = {}  # outcomes, by try; None in files of before they were kept
        if config.critic.exists():
            self._load()

    @property
    def _networks(self) -> list[FeatureCritic]:
        return [critic for critic in self.critics if isinstance(critic, FeatureCritic)]

    def finish(
        self, trajectories: Sequence[RewardedTrajectory], states: torch.Tensor, actions: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """[n] by column, after the last step; `states`, `actions` [n, h] are the features of all samples in order."""
        config = self.config
        self._check_outcomes(trajectories)
        if self.step == config.train_iters:
            print(f"{config.critic}: fitted already")
        else:
            self._fit(trajectories, transitions(trajectories, states, actions))
        lengths = [len(each.keys) for each in trajectories]
        own = torch.from_numpy(np.repeat([self._fold(each.id) for each in trajectories], lengths))
        seen = torch.from_numpy(np.repeat([each.id in self.seen for each in trajectories], lengths))
        found = [critic.cpu().values(states, actions, config.target) for critic in self._networks]
        values = {name: torch.stack([each[name] for each in found]) for name in found[0]}  # [folds, n]
        return {name: torch.where(seen, each.gather(0, own[None])[0], each.mean(0)) for name, each in values.items()}

    def _fit(self, trajectories: Sequence[RewardedTrajectory], data: Transitions) -> None:
        config = self.config
        self.seen = {each.id: each.outcome for each in trajectories}
        seen = self._parts(trajectories)
        data = Transitions(*(tensor.to(self.device) for tensor in vars(data).values()))
        for critic in self._networks if self.step == 0 else ():
            critic.see(data)
        progress = Reporter("steps", config.train_iters, self.step)
        while self.step < config.train_iters:
            losses = [self._loss(critic, data, steps) for critic, steps in zip(self._networks, seen, strict=True)]
            loss = sum(losses[1:], losses[0])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for critic in self._networks if config.target == "td" else ():
                critic.follow(config.tau)
            self.step += 1
            if self.step % _SAVED_EVERY == 0 or self.step == config.train_iters:
                self._save()
                said = f"loss {loss.item() / config.folds:.4f}"
                print(f"{self.step}/{config.train_iters} steps, {said}", flush=True)
                progress(self.step, said)

    def _check_outcomes(self, trajectories: Sequence[RewardedTrajectory]) -> None:
        """`UserError` where a try that was fitted to has another outcome now."""
        for each in trajectories:
            if (then := self.seen.get(each.id)) is not None and then != each.outcome:
                raise UserError(
                    f"{self.config.critic}: was fitted to an outcome of {then:g} of {each.id}, which is "
                    f"{each.outcome:g} now; give another --critic, or remove it"
                )

    def _parts(self, trajectories: Sequence[RewardedTrajectory]) -> list[torch.Tensor]:
        """The numbers of the steps that each critic is fitted to.

        Raises:
            UserError: a part has no success or no failure.
        """
        folds = [self._fold(each.id) for each in trajectories]
        of_steps = np.repeat(folds, [each.num_steps for each in trajectories])
        for fold in range(self.config.folds if self.config.folds > 1 else 0):
            outcomes = {each.outcome > 0 for each, own in zip(trajectories, folds, strict=True) if own != fold}
            if len(outcomes) < 2:
                raise UserError(
                    f"{self.config.dataset_path}: without a part of the tries the others have no success, or no "
                    f"failure; give a smaller --folds than {self.config.folds}"
                )
        everything = self.config.folds == 1
        return [torch.from_numpy(np.flatnonzero((of_steps != fold) | everything)) for fold in range(self.config.folds)]

    def _loss(self, critic: FeatureCritic, data: Transitions, steps: torch.Tensor) -> torch.Tensor:
        """Of a batch of these steps."""
        drawn = torch.randint(len(steps), (self.config.batch_size,), generator=self.generator)
        return critic.loss(data, steps[drawn].to(self.device), self.config.target, self.config.gamma)

    def _fold(self, name: str) -> int:
        """Which critic judges a try, and is fitted without it."""
        return int(draw(f"{self.config.seed} {name}") * self.config.folds)

    def _save(self) -> None:
        parts = {"critic": self.critics.state_dict(), "optimizer": self.optimizer.state_dict()}
        state = {**parts, "generator": self.generator.get_state(), "step": self.step, "record": self.record}
        state["seen"] = self.seen
        temporary = self.config.critic.with_name(f".{self.config.critic.name}.partial")
        torch.save(state, temporary)
        temporary.replace(self.config.critic)

    def _load(self) -> None:
        path = self.config.critic
        state = read_state(path, "a critic of this command", self.device)
        try:
            began, step = {"folds": 1, **state["record"]}, int(state["step"])
            weights, optimizer, generator = state["critic"], state["optimizer"], state["generator"].cpu()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{path}: not a critic of this command ({type(error).__name__})") from None
        now = {**self.record, "folds": self.config.folds}
        compared = [name for name in now if name in began or name not in _SINCE]
        changed = [name for name in compared if began.get(name) != now[name]]
        if "policy" in changed:
            raise UserError(f"{path}: is a critic of another policy than {self.config.features}; give another --critic")
        if step == self.config.train_iters and set(changed) <= {"features", "samples"}:
            changed = []  # a critic that is fitted may be asked about other samples
        if changed:
            raise UserError(f"{path}: began with another {', '.join(changed)}; give another --critic, or remove it")
        if "mean" in weights:  # of the one critic that there was before there were folds
            weights = {f"0.{name}": weight for name, weight in weights.items()}
        try:
            self.critics.load_state_dict(weights)
        except RuntimeError:
            raise UserError(f"{path}: was fitted to features of another size; give another --critic") from None
        seen = state.get("seen", {})
        self.seen = seen if isinstance(seen, dict) else dict.fromkeys(seen)
        self.optimizer.load_state_dict(optimizer)
        self.generator.set_state(generator)
        self.step = step


def transitions(trajectories: Sequence[RewardedTrajectory], states: torch.Tensor, actions: torch.Tensor) -> Transitions:
    """The steps that were taken, of features [n, h] of all samples in their order.

    Raises:
        UserError: every trajectory came to the same.
    """
    check_outcomes(trajectories)
    taken = torch.from_numpy(np.concatenate([trajectory.candidates == 0 for trajectory in trajectories]))
    lengths = [trajectory.num_steps for trajectory in trajectories]
    ends = np.cumsum(lengths)
    following = torch.arange(1, int(ends[-1]) + 1)
    following[torch.from_numpy(ends - 1)] = -1
    first = torch.zeros(len(following), dtype=torch.bool)
    first[torch.from_numpy(ends - lengths)] = True
    return Transitions(
        states=states[taken],
        actions=actions[taken],
        rewards=torch.from_numpy(np.concatenate([trajectory.rewards for trajectory in trajectories])).float(),
        outcomes=torch.tensor(np.repeat([trajectory.outcome for trajectory in trajectories], lengths)).float(),
        following=following,
        first=first,
    )


if __name__ == "__main__":
    sys.exit(cli.guarded(lambda kind: main(parse_with_environment(kind, "feature_critic.sh")), FeatureCriticConfig))
