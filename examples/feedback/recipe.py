"""Exploration, feedback, optimization over three rounds on the embedded sites, with a judge that may err.

    elcano run examples/feedback/recipe.py --output_dir runs/feedback
    NOISE=0.1 elcano run examples/feedback/recipe.py --output_dir runs/feedback-noisy

The quickstart's voyage with one more round; NOISE is the share of exploration's verdicts that are turned round, so that
one failure in ten is learnt from and one success in ten is not. Test verdicts are always the sites' ground truth.
Rounds are made cheaper than the quickstart's: three tries a task, and a third of D_IL beside what was found.
"""

import dataclasses
import os
from pathlib import Path

from elcano.recipe import Judging, Recipe, Round, load_recipe

ROOT = Path(__file__).resolve().parent.parent.parent


def recipe() -> Recipe:
    """The quickstart's recipe with three rounds of exploration, under a judge that errs in a share NOISE."""
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    imitation, *_, last = quickstart.rounds
    tasks = [last.tasks.with_name(f"optim-{number}.jsonl") for number in (1, 2, 3)]
    rounds = [Round(path.stem, path, "policy", last.training, il_share=1 / 3) for path in tasks]
    judging = Judging("oracle", eval_noise=float(os.environ.get("NOISE", "0")))
    collection = dataclasses.replace(quickstart.collection, max_rerun_times=3, explore_judging=judging)
    return dataclasses.replace(quickstart, name="feedback", rounds=[imitation, *rounds], collection=collection)
