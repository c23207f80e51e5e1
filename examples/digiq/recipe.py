"""Digi-Q on the embedded websites, offline: at each step imitate the best of four candidate actions.

    elcano run examples/digiq/recipe.py --output_dir runs/digiq

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

import dataclasses

from collection.config.commands import CandidatesConfig
from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """One round on three task files; what features are taken from learns for two epochs what actions change."""
    drawn = CandidatesConfig(num_candidates=4, temperature=1.2)
    training = {"algorithm_options": "threshold=0.05"}
    more = {"critic": "td", "candidates": drawn}
    recipe = load_recipe(LEARNING, algorithm="digiq", tasks=[(1, 2, 3)], training=training, **more)
    [round] = recipe.rounds
    answering = dataclasses.replace(round.training, algorithm="sft", algorithm_options="", train_epochs=2)
    return dataclasses.replace(recipe, rounds=[dataclasses.replace(round, representation=answering)])
