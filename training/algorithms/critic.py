"""Critic: whether a try will succeed, by value heads on the model, read at the last token of each step's prompt.

Of each head, with y = 1[r_T > 0] (WebRL, eq. 8; DigiRL, 4.2):

    L = mean_j [ - y_j log V(s_j) - (1 - y_j) log(1 - V(s_j)) ]

    of=steps          value_1 and value_2, of every step: WebRL's critic, DigiRL's step-level one
    of=instructions   instruction_value, of the first step of each try: DigiRL's V_instr

A head's V is the sigmoid of one output, the same function as the authors' softmax over two. Their code adds the loss at
the state after each step, so that all but the first count twice; here each state counts once, as in the papers.

Source: WebRL (arXiv 2411.02337), webrl/models/critic.py; DigiRL (arXiv 2406.11896), digirl/models/critic.py.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from common.errors import UserError
from training.algorithms.algorithm import Algorithm, BatchColumns, Needs, Number, PredictedTokens
from training.samples.experience import RewardedTrajectory


@dataclasses.dataclass(frozen=True)
class Critic(Algorithm):
    """Columns: weight, 1 of the steps whose states are learned from."""

    of: Literal["steps", "instructions"] = "steps"

    @property
    def needs(self) -> Needs:
        return Needs({"outcome": Number(), "weight": Number(at_least=0.0)})

    @property
    def value_heads(self) -> tuple[str, ...]:
        return ("value_1", "value_2") if self.of == "steps" else ("instruction_value",)

    def columns(self, trajectories: Sequence[RewardedTrajectory]) -> list[dict[str, np.ndarray]]:
        check_outcomes(trajectories)
        return [{"weight": self._weight(trajectory.steps)} for trajectory in trajectories]

    def _weight(self, steps: np.ndarray) -> np.ndarray:
        return np.ones(len(steps)) if self.of == "steps" else (steps == steps[0]).astype(float)

    def token_losses(self, tokens: PredictedTokens) -> torch.Tensor:
        success = (tokens.of_samples("outcome") > 0).float().unsqueeze(-1).expand_as(tokens.log_odds)
        losses = binary_cross_entropy_with_logits(tokens.log_odds, success, reduction="none")
        return tokens.of_samples("weight") * losses.sum(-1)

    def shares(self, columns: BatchColumns) -> torch.Tensor:
        return columns.per_sample["weight"]


def check_outcomes(trajectories: Sequence[RewardedTrajectory]) -> None:
    """`UserError` where all came to the same."""
    solved = sum(trajectory.outcome > 0 for trajectory in trajectories)
    if solved in (0, len(trajectories)):
        raise UserError(
            f"{solved} of {len(trajectories)} trajectories succeed; a critic learns from successes and failures"
        )


ALGORITHM = Critic
