"""Multi-step GRPO on the embedded websites: a clipped policy gradient on the outcomes of five tries a task.

    elcano run examples/grpo/recipe.py --output_dir runs/grpo

It starts from the quickstart's imitation policy, or from the Hugging Face folder that POLICY names.
"""

from common.defaults import ROOT
from elcano.recipe import Recipe, load_recipe

LEARNING = ROOT / "examples" / "quickstart" / "learning.py"


def recipe() -> Recipe:
    """Three rounds; tries are drawn from the model's own distribution, without top-k."""
    training = {"lr_schedule": "constant", "lr_warmup_iters": 0, "seq_len": 4096}
    exploration = {"max_rerun_times": 5, "top_k": 0}
    return load_recipe(LEARNING, algorithm="grpo", tasks=[(1,), (2,), (3,)], training=training, exploration=exploration)
