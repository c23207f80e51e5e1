"""The policy that online learning begins with: the quickstart's, after it imitated the teacher on a few tasks.

    NUM_DEMONSTRATIONS=150 elcano run examples/online/warm_start.py --output_dir runs/online/warm_start

Few demonstrations on purpose: a policy that imitated to the end varies too little to find out anything.
POLICY names the Hugging Face folder of another policy to begin with, of any family.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from elcano.recipe import Recipe, Round, load_recipe

_TASKS = ROOT / "data" / "tasks" / "IL.jsonl"


def recipe() -> Recipe:
    """One round of imitation; its Megatron checkpoint is what train_online.sh begins with."""
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    rounds = [Round("IL", _first(_number()), agent="teacher")]
    policy = Path(os.environ.get("POLICY") or whole.starting_policy).resolve()
    whole = dataclasses.replace(whole, starting_policy=policy, num_test_tasks=15, reference=None)
    return dataclasses.replace(whole, name="online-warm-start", rounds=rounds)


def _number() -> int:
    said = os.environ.get("NUM_DEMONSTRATIONS") or "150"
    if not said.isdecimal() or not int(said):
        raise UserError(f"NUM_DEMONSTRATIONS is a number above 0, not {said!r}")
    return int(said)


def _first(count: int) -> Path:
    """The first tasks of D_IL, which come kind after kind in turn, in a file of their own."""
    path = ROOT / "runs" / "tasks" / f"IL-first-{count}.jsonl"
    content = "".join(_TASKS.read_text().splitlines(keepends=True)[:count])
    if not path.exists() or path.read_text() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return path
