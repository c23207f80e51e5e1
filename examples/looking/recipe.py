"""Does it look? Imitation of what only a picture shows, tested with screenshots, with gray ones, and without trees.

    elcano run examples/looking/recipe.py --output_dir runs/looking

The quickstart's policy and first round on the gallery's tasks (data/tasks/looking/). Tower and connector stay as they
are: 200 tasks, few of whose steps need them, teach them to see nothing.
"""

import dataclasses
from pathlib import Path

from elcano.recipe import Recipe, Round, load_recipe

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = ROOT / "data" / "tasks" / "looking"


def recipe() -> Recipe:
    """The quickstart's recipe with one round on tasks that need pixels."""
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    return dataclasses.replace(
        quickstart,
        name="looking",
        test_tasks=TASKS / "test.jsonl",
        num_test_tasks=None,
        rounds=[Round("IL", TASKS / "IL.jsonl", agent="teacher")],
        training=dataclasses.replace(quickstart.training, freeze_vision=True, freeze_connector=True),
        controls=False,
        looks=True,
        reference=None,
    )
