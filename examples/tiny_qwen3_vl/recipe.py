"""The quickstart's run with a Qwen3-VL of 2.6 M parameters: deepstack, interleaved positions, normalized heads.

elcano run examples/tiny_qwen3_vl/recipe.py --output_dir runs/tiny_qwen3_vl
"""

import dataclasses
from pathlib import Path

from elcano.recipe import Recipe, load_recipe

HERE = Path(__file__).resolve().parent
TASKS = HERE.parent.parent / "data" / "tasks"


def recipe() -> Recipe:
    """The same values from another starting policy, which imitates the teacher on the first round's tasks as well."""
    quickstart = load_recipe(HERE.parent / "quickstart" / "recipe.py", num_test_tasks=75)
    imitation, later, *_ = quickstart.rounds
    new = tuple(TASKS / f"optim-{number}.jsonl" for number in (1, 2, 3))
    return dataclasses.replace(
        quickstart,
        name="tiny_qwen3_vl",
        starting_policy=HERE / "weights",
        rounds=[
            dataclasses.replace(imitation, tasks=(imitation.tasks, later.tasks)),
            dataclasses.replace(later, tasks=new),
        ],
        reference=None,
    )
