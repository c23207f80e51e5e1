"""The policy that learns on MiniWoB++ begins with: the quickstart's, after it imitated the expert on a few tasks.

NUM_DEMONSTRATIONS=60 elcano run examples/miniwob/warm_start.py --output_dir runs/miniwob/warm_start

POLICY names the Hugging Face folder of another policy to begin with, of any family.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from elcano.recipe import Recipe, Round, load_recipe
from elcano.variables import first_tasks, number

TASKS = Path(__file__).resolve().parent / "tasks"
WORLD = {"env": "miniwob", "tree_visibility": "complete"}
"""Half of the fields have no name, and none has a number in the released tree."""


def recipe() -> Recipe:
    """One round of imitation; what is not about the world is as in the quickstart."""
    demonstrations = first_tasks(TASKS / "train.jsonl", number("NUM_DEMONSTRATIONS", 60, least=1), "miniwob")
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    browsing = {name: dataclasses.replace(getattr(whole, name), **WORLD) for name in ("teacher", "exploration")}
    return dataclasses.replace(
        whole,
        name="miniwob-warm-start",
        starting_policy=Path(os.environ.get("POLICY") or whole.starting_policy).resolve(),
        embedded_sites=False,
        test_tasks=TASKS / "test.jsonl",
        num_test_tasks=100,
        rounds=[Round("IL", demonstrations, agent="teacher")],
        testing=dataclasses.replace(whole.testing, **WORLD),
        reference=None,
        **browsing,
    )
