"""The quickstart's run with a Qwen3-VL of 2.6 M parameters: deepstack, interleaved positions, normalized heads.

elcano run examples/tiny_qwen3_vl/recipe.py --output_dir runs/tiny_qwen3_vl
"""

import dataclasses
from pathlib import Path

from elcano.recipe import Recipe, load_recipe

HERE = Path(__file__).resolve().parent


def recipe() -> Recipe:
    """The same tasks, rounds and values from another starting policy."""
    return dataclasses.replace(
        load_recipe(HERE.parent / "quickstart" / "recipe.py"),
        name="tiny_qwen3_vl",
        starting_policy=HERE / "weights",
        reference=None,
    )
