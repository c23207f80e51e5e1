"""The policy that learns on MiniWoB++ begins with: the quickstart's, after it imitated the expert on a few tasks.

NUM_DEMONSTRATIONS=60 elcano run examples/miniwob/warm_start.py --output_dir runs/miniwob/warm_start
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from elcano.recipe import Recipe, Round, load_recipe

TASKS = Path(__file__).resolve().parent / "tasks"
WORLD = {"env": "miniwob", "tree_visibility": "complete"}
"""Half of the fields have no name, and none has a number in the released tree."""


def recipe() -> Recipe:
    """One round of imitation; what is not about the world is as in the quickstart."""
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    browsing = {name: dataclasses.replace(getattr(whole, name), **WORLD) for name in ("teacher", "exploration")}
    return dataclasses.replace(
        whole,
        name="miniwob-warm-start",
        embedded_sites=False,
        test_tasks=TASKS / "test.jsonl",
        num_test_tasks=100,
        rounds=[Round("IL", _first(_number()), agent="teacher")],
        testing=dataclasses.replace(whole.testing, **WORLD),
        reference=None,
        **browsing,
    )


def _number() -> int:
    said = os.environ.get("NUM_DEMONSTRATIONS") or "60"
    if not said.isdecimal() or not int(said):
        raise UserError(f"NUM_DEMONSTRATIONS is a number above 0, not {said!r}")
    return int(said)


def _first(count: int) -> Path:
    """The first training tasks, which come kind after kind in turn, in a file of their own."""
    path = ROOT / "runs" / "tasks" / f"miniwob-first-{count}.jsonl"
    content = "".join((TASKS / "train.jsonl").read_text().splitlines(keepends=True)[:count])
    if not path.exists() or path.read_text() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return path
