"""PAE on the embedded websites: a proposer's tasks, an evaluator's verdicts, and the shortest successes so far cloned.

    elcano run examples/pae/recipe.py --output_dir runs/pae

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names. Proposer and
evaluator are the embedded stand-ins for models; tests are judged by the websites' ground truth.
"""

from collection.config.proposals import ProposerFlags
from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Two rounds on 75 proposed tasks each; the second learns from both."""
    judged = {"judge": "pae", "api_eval_model": "judge", "eval_trees": 1}
    proposals = ProposerFlags(method="names", num_tasks=75)
    return load_recipe(LEARNING, algorithm="pae", exploration=judged, buffer=True, proposals=proposals)
