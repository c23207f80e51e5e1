"""WebRL on the embedded websites: regression to the advantage, from the policy that a phase begins with.

    elcano run examples/webrl/recipe.py --output_dir runs/webrl

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from pathlib import Path

from elcano.recipe import Recipe, load_recipe

LEARNING = Path(__file__).resolve().parent.parent / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two phases."""
    training = {"lr": 1e-4, "lr_warmup_iters": 0, "global_batch_size": 16}
    return load_recipe(LEARNING, algorithm="webrl", training=training, critic="monte_carlo")
