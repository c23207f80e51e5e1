"""The samples that a version learns from, with their columns: computed as groups come, by the functions of the offline
commands (make_columns.sh, score.sh, feature_critic.sh).

Log-probabilities that an algorithm asks for beside those of the draw are the policy's before it learns from these
samples: the proximal policy of decoupled GRPO, the reference of WebRL, whose phase is one version.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch

from common.errors import UserError
from training.algorithms.algorithm import Algorithm
from training.batches.collate import TokenizedSample
from training.batches.columns import BEHAVIOR, SampleColumns
from training.critics.make_columns import MONTE_CARLO, check_numbers, monte_carlo_values
from training.critics.scoring import perplexity
from training.online.group import Tries, known_logprobs
from training.online.values import Critic
from training.samples.experience import RewardedTrajectory

MADE = {
    "none": MONTE_CARLO,
    "monte_carlo": ("q_1", "q_2", "value_1", "value_2", "instruction_value"),
    "td": ("q_1", "q_2", "value_1", "value_2"),
}
"""Columns of values by what makes them (`OnlineConfig.critic`)."""

TokenLosses = Callable[[list[TokenizedSample] | None], dict[str, torch.Tensor]]
"""-log pi of each sample's predicted tokens, [t] by key, under the policy as it is. A collective."""


def check_online(algorithm: Algorithm, critic: str) -> None:
    """`UserError` for an algorithm that asks for what is not made online."""
    name = type(algorithm).__name__
    if not algorithm.makes_columns or algorithm.value_heads or algorithm.takes_candidates:
        raise UserError(f"{name}: is not learned online; take grpo, filtered_bc, pae, digirl or webrl")
    if missing := set(algorithm.sources) - {*MADE[critic], "perplexity"}:
        raise UserError(f"{name}: asks for {', '.join(sorted(missing))}, which CRITIC={critic} does not make")
    if critic != "none" and not set(algorithm.sources) & set(MADE[critic]):
        raise UserError(f"{name}: reads no values of steps; leave CRITIC out")


@dataclasses.dataclass(frozen=True)
class ColumnMaker:
    """Every rank calls `make` together; the first one gives groups and gets samples."""

    algorithm: Algorithm
    token_losses: TokenLosses
    critic: Critic | None

    def make(self, replayed: Sequence[Tries], new: Sequence[Tries], rounds: Sequence[int]) -> list[TokenizedSample]:
        """Those that weigh something, group by group; none where nothing is left to learn. `rounds`: of each group,
        `replayed` first, the version that learned it."""
        groups = [*replayed, *new]
        samples = {key: sample for group in groups for key, sample in group.samples.items()}
        losses = self.token_losses(list(samples.values()) or None) if self._asks_policy else {}
        if self.critic:
            self.critic.read(groups)
        trajectories = [
            dataclasses.replace(one, learned_at=number)
            for group, number in zip(groups, rounds, strict=True)
            for one in group.trajectories
        ]
        if not trajectories:
            return []
        try:
            values = self.critic.values(trajectories, rounds[-1]) if self.critic else None
            found = self._columns(trajectories, values, losses)
        except UserError as error:
            print(f"groups {', '.join(str(group.number) for group in new)}: {error}", flush=True)
            return []
        return [
            self._with_columns(samples[key], {name: float(column[index]) for name, column in columns.items()}, losses)
            for trajectory, columns in zip(trajectories, found, strict=True)
            for index, key in enumerate(trajectory.keys)
            if self._counts(columns, index)
        ]

    @property
    def _asks_policy(self) -> bool:
        return bool(set(self.algorithm.needs.per_token) - {BEHAVIOR}) or "perplexity" in self.algorithm.sources

    def _columns(
        self,
        trajectories: Sequence[RewardedTrajectory],
        values: list[dict[str, np.ndarray]] | None,
        losses: dict[str, torch.Tensor],
    ) -> list[dict[str, np.ndarray]]:
        """The algorithm's, made of what it asks for."""
        asked = self.algorithm.sources
        if set(asked) & set(MONTE_CARLO):
            values = values or monte_carlo_values(trajectories)
        found = []
        for number, trajectory in enumerate(trajectories):
            columns = dict(values[number]) if values else {}
            if "perplexity" in asked:
                columns["perplexity"] = np.array([perplexity((-losses[key]).tolist()) for key in trajectory.keys])
            found.append(dataclasses.replace(trajectory, columns=columns))
        made = self.algorithm.columns(found)
        check_numbers(found, made)
        return made

    def _counts(self, columns: dict[str, np.ndarray], index: int) -> bool:
        """Whether a step adds to the loss or to what it is divided by."""
        read = [name for name in ("weight", "share") if name in columns and name in self.algorithm.needs.per_sample]
        return not read or any(columns[name][index] > 0 for name in read)

    def _with_columns(
        self, sample: TokenizedSample, made: dict[str, float], losses: dict[str, torch.Tensor]
    ) -> TokenizedSample:
        needs = self.algorithm.needs
        numbers = {name: made.get(name, number.default) for name, number in needs.per_sample.items()}
        known = {name: value for name, value in numbers.items() if value is not None}
        if missing := numbers.keys() - known.keys():
            said = ", ".join(sorted(missing))
            raise UserError(
                f"{type(self.algorithm).__name__}: needs column {said}, which its own `columns` do not make"
            )
        lists = {}
        for name in needs.per_token:
            drawn = known_logprobs(sample) if name == BEHAVIOR else -losses[sample.key]
            assert drawn is not None, sample.key
            lists[name] = drawn
        return dataclasses.replace(sample, columns=SampleColumns(known, lists))
