"""GRPO on MiniWoB++, on two CPU cores, from the policy that `warm_start.py` made.

    elcano online examples/miniwob/recipe.py --output_dir runs/miniwob/grpo    # until Ctrl-C

TASKS names another task file; README.md makes one that can be learned.
ALGORITHM, SEED and MAX_LAG are those of examples/online/recipe.py, whose settings these are. WARM_START names the
Hugging Face folder of another policy.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from elcano.online import OnlineRecipe, load_online_recipe

WARM_START = ROOT / "runs" / "miniwob" / "warm_start" / "IL" / "policy"
TASKS = ROOT / "examples" / "miniwob" / "tasks" / "train.jsonl"
WORLD = {"env": "miniwob", "tree_visibility": "complete", "curriculum_floor": 0.2}
"""Half of the fields have no name, and none has a number in the released tree. Some kinds are solved from the start."""


def online() -> OnlineRecipe:
    """GRPO unless ALGORITHM says otherwise."""
    os.environ.setdefault("ALGORITHM", "grpo")
    web = load_online_recipe(ROOT / "examples" / "online" / "recipe.py")
    return dataclasses.replace(
        web,
        policy=Path(os.environ.get("WARM_START") or WARM_START).resolve(),
        tasks=Path(os.environ.get("TASKS") or TASKS),
        collection={**web.collection, **WORLD},
    )
