"""DigiRL and filtered behavior cloning online, in ten toys: a table of exact success, version by version.

    python -m tests.training.toy_online

Both leave failures out. DigiRL leaves out the steps of successes, too, that changed nothing.
"""

import numpy as np

from common.shown.tables import Table, print_table
from tests.training.toy_mdp import Policy, World, explore, step_values, train
from training import algorithms

DIGIRL = "quantile=0.5,horizon=8"
"""As in examples/online/recipe.py."""
NUM_VERSIONS, TRIES, NUM_WORLDS = 3, 60, 10
T_95 = 2.262
"""Student's, of nine degrees of freedom."""


def learn_online(seed: int, name: str, options: str = "") -> list[float]:
    """Success of a policy and of each version after it, each of which learns from tries of the one before."""
    world, algorithm = World.of(seed), algorithms.load(name, options)
    policy = Policy.that_explores(world)
    success = [world.success(policy)]
    for version in range(NUM_VERSIONS):
        plain = explore(world, policy, TRIES, seed=100 * seed + version)
        found = plain.with_columns(step_values(plain))
        policy = train(policy, algorithm, found, algorithm.columns(found.trajectories))
        success.append(world.success(policy))
    return success


def main() -> None:
    """Paired by world."""
    arms = {"filtered_bc": "", "digirl": DIGIRL, "digirl, as by default": ""}
    found = {
        name: 100 * np.array([learn_online(seed, name.partition(",")[0], options) for seed in range(NUM_WORLDS)])
        for name, options in arms.items()
    }
    table = Table(["learned by"], [f"version {version}" for version in range(NUM_VERSIONS + 1)])
    for name, rates in found.items():
        gains = rates - found["filtered_bc"]
        errors = T_95 * gains.std(axis=0, ddof=1) / NUM_WORLDS**0.5
        cells = zip(rates.mean(axis=0), gains.mean(axis=0), errors, strict=True)
        table.add(name, *(f"{rate:.1f} ({gain:+.1f} +- {error:.1f})" for rate, gain, error in cells))
    print_table(table)


if __name__ == "__main__":
    main()
