"""The long voyage: how far the loop goes when hours are allowed.

    elcano run examples/voyage/recipe.py --output_dir runs/voyage

The quickstart's policy and settings with more of both: imitation on 685 tasks (its 525 and the graded ones), then six
rounds that each explore 300 tasks (data/tasks/voyage/), and in the first three the graded ones of that round, too.
"""

import dataclasses
from pathlib import Path

from elcano.recipe import Recipe, load_recipe

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = ROOT / "data" / "tasks"
NUM_ROUNDS = 6


def recipe() -> Recipe:
    """The quickstart's recipe with more tasks and more rounds."""
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py", num_test_tasks=75)
    imitation, later, *_ = quickstart.rounds
    demonstrated = (TASKS / "IL.jsonl", TASKS / "IL-2.jsonl", TASKS / "graded" / "IL.jsonl")
    rounds = [dataclasses.replace(imitation, tasks=demonstrated)]
    for number in range(1, NUM_ROUNDS + 1):
        name, graded = f"optim-{number}", TASKS / "graded" / f"optim-{number}.jsonl"
        tasks = (TASKS / "voyage" / f"{number}.jsonl", *([graded] if graded.exists() else []))
        rounds.append(dataclasses.replace(later, name=name, tasks=tasks))
    return dataclasses.replace(quickstart, name="voyage", rounds=rounds, reference=None)
