"""Digi-Q on the embedded websites, offline: at each step imitate the best of eight candidate actions.

    elcano run examples/digiq/recipe.py --output_dir runs/digiq

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from pathlib import Path

from collection.config.commands import CandidatesConfig
from elcano.recipe import Recipe, load_recipe

LEARNING = Path(__file__).resolve().parent.parent / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """One round on three task files."""
    drawn = CandidatesConfig(num_candidates=8, temperature=1.2)
    training = {"algorithm_options": "threshold=0.05"}
    return load_recipe(LEARNING, algorithm="digiq", tasks=[(1, 2, 3)], training=training, critic="td", candidates=drawn)
