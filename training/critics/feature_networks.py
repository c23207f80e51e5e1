"""A small critic on frozen features of a model: twin perceptrons for Q(s, a) and V(s), and one for V_instr(c).

target=td, Digi-Q's, with bars for copies that begin equal and follow slowly:

    J_Q = E (Q_k(s, a) - (r + gamma Vbar(s')))^2        J_V = E (V_k(s) - Qbar(s, a))^2

target=monte_carlo, DigiRL's and the ablation of Digi-Q: cross entropy of y = 1[r_T > 0], whose sigmoid the values are;
V_instr from first steps alone.

Vbar and Qbar are the smaller of the twins, Vbar is 0 after the last step. Source: Digi-Q (arXiv 2502.15760),
digiq/trainer.py, whose copies begin as another random network; DigiRL (arXiv 2406.11896), digirl/models/critic.py.
"""

import copy
import dataclasses
from typing import Literal

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from training.algorithms.digiq import q_targets

Target = Literal["td", "monte_carlo"]


@dataclasses.dataclass(frozen=True)
class Transitions:
    """The n steps that were taken. states, actions [n, h]: features. rewards, outcomes [n]. following [n]: the number
    of the next step of the same try, -1 after the last. first [n] bool: whether it begins its try."""

    states: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    outcomes: torch.Tensor
    following: torch.Tensor
    first: torch.Tensor


class FeatureCritic(torch.nn.Module):
    """Its parameters, and the mean and scale of the features that it was fitted to."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, num_features: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(2, num_features))
        self.register_buffer("scale", torch.ones(2, num_features))
        self.q = torch.nn.ModuleList(_perceptron(2 * num_features, width) for _ in range(2))
        self.v = torch.nn.ModuleList(_perceptron(num_features, width) for _ in range(2))
        self.instruction = _perceptron(num_features, width)
        self.slow_q, self.slow_v = (copy.deepcopy(fast).requires_grad_(False) for fast in (self.q, self.v))

    def see(self, data: Transitions) -> None:
        """Take mean and scale of the features from `data`."""
        for number, features in enumerate((data.states, data.actions)):
            self.mean[number] = features.mean(0)
            self.scale[number] = features.std(0, correction=0) + 1e-6

    def loss(self, data: Transitions, batch: torch.Tensor, target: Target, gamma: float) -> torch.Tensor:
        """Of the steps of numbers `batch` [n], summed over the networks, the mean over steps."""
        states, actions = self._normed(data.states[batch], 0), self._normed(data.actions[batch], 1)
        q, v = _each(self.q, torch.cat([states, actions], -1)), _each(self.v, states)
        if target == "monte_carlo":
            success = (data.outcomes[batch] > 0).float()
            losses = binary_cross_entropy_with_logits(torch.cat([q, v]), success.expand(4, -1), reduction="none")
            first = data.first[batch].float()
            guess = binary_cross_entropy_with_logits(_each([self.instruction], states)[0], success, reduction="none")
            return losses.mean(1).sum() + (first * guess).sum() / first.sum().clamp(min=1)
        with torch.no_grad():
            following = data.following[batch]
            after = _each(self.slow_v, self._normed(data.states[following], 0)).min(0).values * (following >= 0)
            q_target = q_targets(data.rewards[batch], after, gamma)
            v_target = _each(self.slow_q, torch.cat([states, actions], -1)).min(0).values
        return (q - q_target).square().mean(1).sum() + (v - v_target).square().mean(1).sum()

    @torch.no_grad()
    def follow(self, part: float) -> None:
        """Move the slow copies by `part` of the way (Polyak averaging)."""
        for slow, fast in ((self.slow_q, self.q), (self.slow_v, self.v)):
            for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
                old.lerp_(new, part)

    @torch.no_grad()
    def values(self, states: torch.Tensor, actions: torch.Tensor, target: Target) -> dict[str, torch.Tensor]:
        """[n] by column: of features [n, h]."""
        states, actions = self._normed(states, 0), self._normed(actions, 1)
        q, v = _each(self.q, torch.cat([states, actions], -1)), _each(self.v, states)
        if target == "td":
            return {"q_1": q[0], "q_2": q[1], "value_1": v[0], "value_2": v[1]}
        q, v, whole = q.sigmoid(), v.sigmoid(), _each([self.instruction], states)[0].sigmoid()
        return {"q_1": q[0], "q_2": q[1], "value_1": v[0], "value_2": v[1], "instruction_value": whole}

    def _normed(self, features: torch.Tensor, number: int) -> torch.Tensor:
        return (features - self.mean[number]) / self.scale[number]


def _perceptron(num_inputs: int, width: int) -> torch.nn.Module:
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(num_inputs, width), relu(), linear(width, width), relu(), linear(width, 1))


def _each(networks: torch.nn.ModuleList | list[torch.nn.Module], inputs: torch.Tensor) -> torch.Tensor:
    """Every network's output: [n, inputs] -> [networks, n]"""
    return torch.stack([network(inputs)[:, 0] for network in networks])
