"""DigiRL on the embedded websites: of surprising successes clone the steps that a critic favors.

    elcano run examples/digirl/recipe.py --output_dir runs/digirl

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two rounds of tries of at most 8 steps; the second learns from both."""
    training = {"algorithm_options": "horizon=8"}
    return load_recipe(LEARNING, algorithm="digirl", training=training, buffer=True, critic="monte_carlo")
