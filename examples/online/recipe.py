"""Learn online on the embedded websites, on two CPU cores, from the policy that `warm_start.py` made.

bash examples/online/run.sh makes it and begins; with a policy of your own:
WARM_START=FOLDER elcano online examples/online/recipe.py --output_dir runs/online
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

from common.defaults import EXPLORATION_TASKS
from common.errors import UserError
from elcano.online import OnlineRecipe
from elcano.variables import number
from server.config import ServerConfig

_IMITATION = {"lr": 2e-4, "global_batch_size": 8}
"""Of those that learn the likelihood of some steps."""
_CRITIC = {"critic": "monte_carlo", "critic_folds": 3, "critic_width": 128, "critic_lr": 1e-3}
LEARNING: dict[str, dict[str, Any]] = {
    "filtered_bc": _IMITATION,
    "grpo": {"lr": 1e-4, "global_batch_size": 16, "algorithm_options": "normalizer=trajectory"},
    "grpo-decoupled": {
        **{"algorithm": "grpo", "lr": 1e-4, "global_batch_size": 16},
        "algorithm_options": "normalizer=trajectory,ratio=decoupled",
    },
    "pae": {**_IMITATION, "replay_groups": 24},
    "digirl": {
        **{**_IMITATION, "replay_groups": 12, "ppo_epochs": 2, **_CRITIC},
        "algorithm_options": "quantile=0.5,horizon=8",
    },
    "webrl": {"lr": 1e-4, "global_batch_size": 16, **_CRITIC},
}
"""Flags of the trainer by what it learns by: an algorithm's name, or one with something changed."""


def online() -> OnlineRecipe:
    """Filtered BC; ALGORITHM in the environment for another one. SEED: of the rollouts and of the trainer. MAX_LAG=0:
    nobody browses on while the trainer learns. TASKS: another task file."""
    return made(
        os.environ.get("ALGORITHM") or "filtered_bc",
        Path(os.environ.get("WARM_START") or "runs/online/warm_start/IL/policy"),
        Path(os.environ.get("TASKS") or EXPLORATION_TASKS),
        number("SEED", 0),
        number("MAX_LAG", 2, least=0),
    )


def made(name: str, policy: Path, tasks: Path, seed: int = 0, max_lag: int = 2) -> OnlineRecipe:
    """Of one of `LEARNING`.

    Raises:
        UserError: there is none of that name.
    """
    if name not in LEARNING:
        raise UserError(f"{name}: is not learned online here; there are {', '.join(LEARNING)}")
    learning = {"algorithm": name, **LEARNING[name]}
    groups = {"group_size": 6, "groups_per_step": 4} if name == "filtered_bc" else _GROUPS
    return OnlineRecipe(
        policy=policy.resolve(),
        tasks=tasks,
        serving=ServerConfig(max_new_tokens=128),
        collection={
            **groups,
            **{"max_lag": max_lag, "temperature": 0.8, "top_k": 0, "seed": seed},
            **{"max_iter": 8, "max_attached_imgs": 1, "num_sessions": 12},
        },
        training={
            **{"groups_per_step": groups["groups_per_step"], "max_lag": max_lag, "seed": seed},
            **learning,
            **{"batch_size": 2, "adam_beta2": 0.95},
            **{"tp": 1, "dp": 1, "pr": "fp32", "ac": "none", "seq_len": 4096, "image_num": 1, "num_workers": 0},
        },
    )


def of_many_kinds(recipe: OnlineRecipe) -> OnlineRecipe:
    """What `recipe` is in a world of many kinds of tasks: a version learns from more groups, and from some again, at
    half of imitation's learning rate. From four groups it learns few kinds, and forgets those that begin alike."""
    groups = {"group_size": 8, "groups_per_step": 12}
    learning = {"lr": 1e-4, "global_batch_size": 16, "replay_groups": 24}
    if "ppo_epochs" in recipe.training:
        learning["ppo_epochs"] = 1
    return dataclasses.replace(
        recipe,
        collection={**recipe.collection, **groups},
        training={**recipe.training, **learning, "groups_per_step": groups["groups_per_step"]},
    )


_GROUPS = {"group_size": 8, "groups_per_step": 6}
