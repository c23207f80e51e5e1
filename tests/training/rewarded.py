"""Rewarded trajectories for tests."""

import numpy as np

from training.samples.experience import RewardedTrajectory


def trajectory(
    task: str, run: int, outcome: float, num_steps: int, num_candidates: int = 0, **columns: np.ndarray
) -> RewardedTrajectory:
    """A try of `num_steps`, each with `num_candidates` beside the one taken; its last step has the reward."""
    name = f"{task}--00001--run{run}--r01"
    steps = np.repeat(np.arange(1, num_steps + 1), 1 + num_candidates)
    candidates = np.tile(np.arange(1 + num_candidates), num_steps)
    keys = tuple(f"{name}--step{step:02d}--{candidate}" for step, candidate in zip(steps, candidates, strict=True))
    rewards = np.append(np.zeros(num_steps - 1), outcome)
    group = f"{task}--00001--r01"
    return RewardedTrajectory(name, task, group, keys, steps, candidates, rewards, outcome, columns)
