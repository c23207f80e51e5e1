"""The small critic's networks: V_instr is of whole tries, so that later steps teach it nothing."""

import pytest
import torch

from tests.training.critics.test_feature_critic import WIDTH, chain, linear
from training.critics.feature_networks import FeatureCritic


def test_instructions_are_learned_from_first_steps_alone() -> None:
    """Of the chain's first steps one is of a success and one of a failure; two more steps are of the success. With a
    guess of sigmoid(2) everywhere they would pull the mean their way."""
    critic = FeatureCritic(1, WIDTH)
    linear(critic, "q", [0.0])
    linear(critic, "v", [0.0])
    for parameter in critic.instruction.parameters():
        parameter.data.zero_()
    critic.instruction[4].bias.data.fill_(2.0)
    loss = critic.loss(chain(), torch.arange(4), "monte_carlo", 0.9)
    guess = torch.tensor(2.0).sigmoid()
    instructions = -(guess.log() + (1 - guess).log()) / 2
    assert loss.item() == pytest.approx(4 * torch.tensor(2.0).log().item() + instructions.item(), rel=1e-6)
    loss.backward()
    assert critic.instruction[4].bias.grad.item() == pytest.approx((2 * guess.item() - 1) / 2, rel=1e-6)
