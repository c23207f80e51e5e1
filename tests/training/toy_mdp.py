"""A toy of three websites for a softmax policy in a table: what an algorithm makes of one batch of rollouts.

On each site a task is solved by four right actions in a row, within six steps; there are four actions, each of two
tokens. One leads on, one gives up, two change nothing. The policy that explores finds the right one in 45 % of its
steps, so it solves about a fifth of its tries. A state is a site and how far one is, so that success is known exactly.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from training.algorithms.algorithm import Algorithm, BatchColumns, PredictedTokens
from training.algorithms.digiq import q_targets
from training.samples.experience import RewardedTrajectory

NUM_SITES, LENGTH, HORIZON, NUM_ACTIONS = 3, 4, 6, 4
NUM_STATES = NUM_SITES * LENGTH
GAMMA = 0.9


@dataclasses.dataclass(frozen=True)
class World:
    """right, wrong [states]: the action that leads on, and the one that gives up."""

    right: np.ndarray
    wrong: np.ndarray

    @staticmethod
    def of(seed: int) -> "World":
        generator = np.random.default_rng(seed)
        pairs = np.array([generator.permutation(NUM_ACTIONS)[:2] for _ in range(NUM_STATES)])
        return World(pairs[:, 0], pairs[:, 1])

    def success(self, policy: "Policy") -> float:
        """The exact probability, on average over the sites."""
        with torch.no_grad():
            chances = policy.action_logprobs().exp().numpy()
        states = np.arange(NUM_STATES)
        on = chances[states, self.right].reshape(NUM_SITES, LENGTH)
        stay = 1 - on - chances[states, self.wrong].reshape(NUM_SITES, LENGTH)
        solved = np.zeros((NUM_SITES, LENGTH + 1))
        solved[:, LENGTH] = 1
        for _ in range(HORIZON):
            solved[:, :LENGTH] = on * solved[:, 1:] + stay * solved[:, :LENGTH]
        return float(solved[:, 0].mean())


class Policy:
    """Tables of logits: of the first token in a state [states, 2], of the second after it [states, 2, 2]."""

    def __init__(self, first: torch.Tensor, second: torch.Tensor) -> None:
        self.tables = [first.clone().requires_grad_(), second.clone().requires_grad_()]

    @staticmethod
    def that_explores(world: World) -> "Policy":
        chances = torch.full((NUM_STATES, NUM_ACTIONS), 0.55 / 3)
        chances[torch.arange(NUM_STATES), torch.from_numpy(world.right)] = 0.45
        pairs = chances.view(NUM_STATES, 2, 2)
        return Policy(pairs.sum(-1).log(), pairs.log())

    def copy(self) -> "Policy":
        return Policy(*(table.detach() for table in self.tables))

    def token_logprobs(self, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Of both tokens of each action: [n], [n] -> [2n]"""
        first, second = actions // 2, actions % 2
        one = self.tables[0].log_softmax(-1)[states, first]
        two = self.tables[1].log_softmax(-1)[states, first, second]
        return torch.stack([one, two], 1).flatten()

    def action_logprobs(self) -> torch.Tensor:
        """[states, actions]"""
        first, second = (table.log_softmax(-1) for table in self.tables)
        return (first.unsqueeze(-1) + second).flatten(1)


@dataclasses.dataclass(frozen=True)
class Rollouts:
    """Trajectories, and of all their samples, one after another, states and actions [n]."""

    trajectories: list[RewardedTrajectory]
    states: torch.Tensor
    actions: torch.Tensor

    def with_columns(self, columns: Mapping[str, np.ndarray]) -> "Rollouts":
        """`columns`: [n] by name."""
        starts = np.cumsum([0, *(len(one.keys) for one in self.trajectories)])
        tries = [
            dataclasses.replace(one, columns={name: values[a:b] for name, values in columns.items()})
            for one, a, b in zip(self.trajectories, starts[:-1], starts[1:], strict=True)
        ]
        return dataclasses.replace(self, trajectories=tries)


def explore(world: World, policy: Policy, tries: int, seed: int, num_candidates: int = 0) -> Rollouts:
    """`tries` at each site's task; at each step `num_candidates` actions are drawn beside the one that is taken."""
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        chances = policy.action_logprobs().double().exp().numpy()
    trajectories, states, actions = [], [], []
    for site in range(NUM_SITES):
        for number in range(tries):
            place, rewards, steps = site * LENGTH, [], 0
            while steps < HORIZON:
                own = chances[place] / chances[place].sum()
                drawn = generator.choice(NUM_ACTIONS, 1 + num_candidates, p=own)
                states += [place] * len(drawn)
                actions += drawn.tolist()
                steps += 1
                solved = drawn[0] == world.right[place] and place % LENGTH == LENGTH - 1
                rewards.append(float(solved))
                if solved or drawn[0] == world.wrong[place]:
                    break
                place += int(drawn[0] == world.right[place])
            name, count = f"{site}--{number}", 1 + num_candidates
            keys = tuple(f"{name}--{index}" for index in range(steps * count))
            numbers, candidates = np.repeat(np.arange(1, steps + 1), count), np.tile(np.arange(count), steps)
            task, outcome = str(site), rewards[-1]
            group = f"{site}--{number // 5}"  # of five tries
            trajectories.append(
                RewardedTrajectory(name, task, group, keys, numbers, candidates, np.array(rewards), outcome)
            )
    return Rollouts(trajectories, torch.tensor(states), torch.tensor(actions))


def taken(rollouts: Rollouts) -> np.ndarray:
    """[n] bool: the actions that were taken."""
    return np.concatenate([one.candidates for one in rollouts.trajectories]) == 0


def step_values(rollouts: Rollouts) -> dict[str, np.ndarray]:
    """A step critic and an instruction critic fitted to outcomes: their mean over the samples of a state, of a task."""
    outcomes = np.concatenate([np.full(len(one.keys), one.outcome) for one in rollouts.trajectories])
    tasks = np.concatenate([np.full(len(one.keys), int(one.task)) for one in rollouts.trajectories])
    value, whole = _means(rollouts.states.numpy(), outcomes, NUM_STATES), _means(tasks, outcomes, NUM_SITES)
    own = value[rollouts.states.numpy()]
    return {"value_1": own, "value_2": own, "instruction_value": whole[tasks]}


def fitted_q(rollouts: Rollouts) -> dict[str, np.ndarray]:
    """Digi-Q's critics in tables: J_Q and J_V by turns, each fitted exactly, the followers being the last ones."""
    states, actions, own = rollouts.states.numpy(), rollouts.actions.numpy(), taken(rollouts)
    pairs = states * NUM_ACTIONS + actions
    value = np.zeros(NUM_STATES)
    q = np.zeros(NUM_STATES * NUM_ACTIONS)
    starts = np.cumsum([0, *(one.num_steps for one in rollouts.trajectories)])
    for _ in range(4 * HORIZON):
        along = value[states[own]]
        targets = [
            q_targets(one.rewards, np.append(along[a + 1 : b], 0.0), GAMMA)
            for one, a, b in zip(rollouts.trajectories, starts[:-1], starts[1:], strict=True)
        ]
        q = _means(pairs[own], np.concatenate(targets), len(q))
        value = _means(states[own], q[pairs[own]], NUM_STATES)
    return {"q_1": q[pairs], "q_2": q[pairs], "value_1": value[states], "value_2": value[states]}


def _means(where: np.ndarray, what: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(where, what, size) / np.maximum(np.bincount(where, minlength=size), 1)


def train(
    policy: Policy, algorithm: Algorithm, rollouts: Rollouts, columns: Sequence[Mapping[str, np.ndarray]]
) -> Policy:
    """A hundred steps of Adam over the whole batch, with the loss as the trainer makes it."""
    needs, learned = algorithm.needs, policy.copy()
    with torch.no_grad():
        before = policy.token_logprobs(rollouts.states, rollouts.actions)
    numbers = {name: torch.tensor(np.concatenate([one[name] for one in columns])).float() for name in needs.per_sample}
    counts = torch.full_like(rollouts.states, 2)
    batch = BatchColumns(counts, numbers, dict.fromkeys(needs.per_token, before))
    optimizer = torch.optim.Adam(learned.tables, lr=0.06)
    for _ in range(100):
        tokens = PredictedTokens(learned.token_logprobs(rollouts.states, rollouts.actions), batch)
        loss = algorithm.token_losses(tokens).sum() / algorithm.shares(batch).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return learned
