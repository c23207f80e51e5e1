"""Filtered behavior cloning on the embedded websites: clone what succeeded in all rounds so far.

    elcano run examples/filtered_bc/recipe.py --output_dir runs/filtered_bc

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two rounds; the second learns from both."""
    return load_recipe(LEARNING, algorithm="filtered_bc", buffer=True)
