"""Exploration, feedback, optimization over three rounds on the embedded sites, with a judge that may err.

    elcano run examples/feedback/recipe.py --output_dir runs/feedback
    NOISE=0.1 elcano run examples/feedback/recipe.py --output_dir runs/feedback-noisy

The quickstart's run with three rounds of exploration, 75 tasks in each, up to three tries a task and no corrections.
NOISE is the share of exploration's verdicts that are turned round: one failure in ten is learned from and one success
in ten is not. Test verdicts are always the sites' ground truth.
"""

import dataclasses
import os
from pathlib import Path

from elcano.recipe import Recipe, load_recipe

ROOT = Path(__file__).resolve().parent.parent.parent


def recipe() -> Recipe:
    """The quickstart's recipe with three rounds of exploration, under a judge that errs in a share NOISE."""
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py", num_test_tasks=75)
    imitation, *_, last = quickstart.rounds
    rounds = [imitation]
    for name in ("optim-1", "optim-2", "optim-3"):
        tasks = ROOT / "data" / "tasks" / f"{name}.jsonl"
        own = {"il_share": 1 / 2, "corrections": False, "before_share": 0.0}
        rounds.append(dataclasses.replace(last, name=name, tasks=tasks, **own))
    noise = float(os.environ.get("NOISE", "0"))
    exploration = dataclasses.replace(quickstart.exploration, max_rerun_times=3, eval_noise=noise)
    return dataclasses.replace(quickstart, name="feedback", rounds=rounds, exploration=exploration)
