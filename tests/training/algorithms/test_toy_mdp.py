"""From one batch of rollouts of a policy that solves a sixth of its tasks, every algorithm makes one that solves more
than imitation of the same rollouts does; Digi-Q, which never acts itself, no fewer than filtered behavior cloning."""

import numpy as np
import pytest

from tests.training.toy_mdp import Policy, Rollouts, World, explore, fitted_q, step_values, train
from tests.training.toy_online import DIGIRL, learn_online
from training import algorithms

MARGIN = 0.05
TRIES = 100
TOYS = {
    "filtered_bc": ["", "rule=quantile", "mode=released,rule=quantile"],
    "pae": [""],
    "digirl": ["", "mode=released"],
    "webrl": ["", "beta=0.1", "mode=released"],
    "digiq": ["threshold=0.01", "threshold=0.01,mode=released", "loss=awr", "loss=pg"],
    "grpo": ["", "normalizer=trajectory", "mean=token,normalizer=constant,ratio=decoupled"],
}


class Toy:
    """A world, the policy that explored it, and what it brought home."""

    def __init__(self) -> None:
        self.world = World.of(0)
        self.policy = Policy.that_explores(self.world)
        plain = explore(self.world, self.policy, TRIES, seed=0)
        self.plain = plain.with_columns(step_values(plain))
        several = explore(self.world, self.policy, TRIES, seed=0, num_candidates=3)
        self.several = several.with_columns(fitted_q(several))
        ones = [{"weight": np.ones(len(one.keys))} for one in plain.trajectories]
        self.imitation = self.world.success(train(self.policy, algorithms.load("sft"), plain, ones))
        self._found: dict[tuple[str, str], float] = {}

    def success(self, name: str, options: str) -> float:
        """Of what it makes of the rollouts; each is trained once."""
        if (name, options) not in self._found:
            algorithm = algorithms.load(name, options)
            data: Rollouts = self.several if algorithm.takes_candidates else self.plain
            learned = train(self.policy, algorithm, data, algorithm.columns(data.trajectories))
            self._found[name, options] = self.world.success(learned)
        return self._found[name, options]


@pytest.fixture(scope="module")
def toy() -> Toy:
    return Toy()


def test_imitation_of_ones_own_rollouts_teaches_nothing(toy: Toy) -> None:
    assert toy.world.success(toy.policy) == pytest.approx(0.156, abs=0.001)
    assert toy.imitation == pytest.approx(0.156, abs=MARGIN)
    outcomes = [trajectory.outcome for trajectory in toy.plain.trajectories]
    assert np.mean(outcomes) == pytest.approx(0.156, abs=MARGIN)


@pytest.mark.parametrize(("name", "options"), [(name, text) for name, texts in TOYS.items() for text in texts])
def test_every_algorithm_beats_imitation(toy: Toy, name: str, options: str) -> None:
    assert toy.success(name, options) > toy.imitation + MARGIN


def test_digiq_offline_is_no_worse_than_filtered_behavior_cloning(toy: Toy) -> None:
    assert toy.success("digiq", "threshold=0.01") >= toy.success("filtered_bc", "")


@pytest.mark.parametrize("seed", range(3))
def test_digirl_online_beats_filtered_behavior_cloning_online(seed: int) -> None:
    begun, *_, cloned = learn_online(seed, "filtered_bc")
    assert learn_online(seed, "digirl", DIGIRL)[-1] > cloned > begun + MARGIN
