"""WebRL on the embedded websites: regression to the advantage, from the policy that a phase begins with.

    elcano run examples/webrl/recipe.py --output_dir runs/webrl

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

import dataclasses

from collection.config.proposals import ProposerFlags
from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two phases; the second on tasks that evolve from the failures of the first, and on its successes, too."""
    training = {"lr_warmup_iters": 0, "algorithm_options": "replay=2,beta=0.1"}
    recipe = load_recipe(LEARNING, algorithm="webrl", training=training, critic="monte_carlo")
    first, second = recipe.rounds
    evolved = ProposerFlags(method="evolve", num_tasks=75, ground_truth=True)
    return dataclasses.replace(recipe, rounds=[first, dataclasses.replace(second, proposals=evolved, buffer=True)])
