"""What several algorithms compute of rewards and values, in numpy. A trajectory has h steps."""

import numpy as np


def td_errors(rewards: np.ndarray, values: np.ndarray) -> np.ndarray:
    """r_t + V(s_{t+1}) - V(s_t), undiscounted; after the last step the value is 0. rewards, values [h] -> [h]"""
    return rewards + np.append(values[1:], 0.0) - values


def keep_best(scores: np.ndarray, outcomes: np.ndarray, quantile: float, only_success: bool = True) -> np.ndarray:
    """Which of n trajectories score at least the `quantile` of all: [n], [n] -> [n] bool.

    Where fewer succeed than are kept, that quantile is a failure's score, and all failures have it: the released code
    then imitates everything. `only_success` leaves them out.
    """
    best = scores >= np.quantile(scores, quantile)
    return best & (outcomes > 0) if only_success else best


def others_mean(outcomes: np.ndarray) -> np.ndarray:
    """Of each of n tries the mean outcome of the others, n > 1: [n] -> [n]"""
    return (outcomes.sum() - outcomes) / (len(outcomes) - 1)
