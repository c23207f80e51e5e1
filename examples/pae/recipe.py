"""PAE on the embedded websites: of all that was explored so far clone each task's shortest successes.

    elcano run examples/pae/recipe.py --output_dir runs/pae

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from pathlib import Path

from elcano.recipe import Recipe, load_recipe

LEARNING = Path(__file__).resolve().parent.parent / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two rounds; the second learns from both."""
    return load_recipe(LEARNING, algorithm="pae", buffer=True)
