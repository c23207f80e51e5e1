"""From the quickstart's imitation policy on, by a learning algorithm: what recipes of examples/<algorithm>/ share."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from elcano.recipe import Recipe, Round, load_recipe

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "runs" / "quickstart" / "IL" / "policy"


def recipe(
    algorithm: str,
    tasks: Sequence[Sequence[int]] = ((1,), (2,)),
    training: Mapping[str, Any] | None = None,
    exploration: Mapping[str, Any] | None = None,
    **round: Any,
) -> Recipe:
    """Rounds with all three tries of each task at temperature 1, from the Hugging Face folder that POLICY names, or
    the quickstart's.

    Args:
        algorithm: its name, and the recipe's.
        tasks: the numbers of the task files optim-<number>.jsonl, 75 tasks each, of every round.
        training, exploration: what differs from the quickstart's.
        round: what else a round is told.
    """
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py", num_test_tasks=75)
    learned = {"agent": "policy", "critic_folds": 5, "critic_iters": 500, "before_share": 1 / 2}
    steps = {"train_epochs": 0, "train_iters": 64, "global_batch_size": 16, "lr": 2e-4}
    options = {**steps, "algorithm": algorithm, **(training or {})}
    files = [tuple(ROOT / "data" / "tasks" / f"optim-{number}.jsonl" for number in numbers) for numbers in tasks]
    learned |= {"training": dataclasses.replace(quickstart.training, **options), **round}
    tries = {"max_rerun_times": 3, "all_tries": True, "temperature": 1.0, **(exploration or {})}
    return dataclasses.replace(
        quickstart,
        name=algorithm,
        starting_policy=starting_policy(),
        rounds=[Round(f"round-{number}", paths, **learned) for number, paths in enumerate(files, start=1)],
        exploration=dataclasses.replace(quickstart.exploration, **tries),
        controls=False,
        reference=None,
    )


def starting_policy() -> Path:
    """What POLICY names, or the quickstart's imitation policy; `UserError` where it is not there."""
    path = Path(os.environ.get("POLICY") or POLICY).resolve()
    if not (path / "config.json").exists():
        raise UserError(
            f"{path}: no policy to begin with; make one by NUM_ROUNDS=1 bash examples/quickstart/run.sh, or set POLICY "
            "to a Hugging Face folder"
        )
    return path
