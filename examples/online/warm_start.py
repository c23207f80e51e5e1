"""The policy that online learning begins with: the quickstart's, after it imitated the teacher on a few tasks.

    NUM_DEMONSTRATIONS=150 elcano run examples/online/warm_start.py --output_dir runs/online/warm_start

Few demonstrations on purpose: a policy that imitated to the end varies too little to find out anything.
TRAIN_EPOCHS=8 imitates each of them eight times, to compare with imitation alone.
POLICY names the Hugging Face folder of another policy to begin with, of any family; TASKS another task file.
"""

import dataclasses
import os
from pathlib import Path

from common.defaults import ROOT
from elcano.recipe import Recipe, Round, load_recipe
from elcano.variables import first_tasks, number


def recipe() -> Recipe:
    """One round of imitation; its Megatron checkpoint is what train_online.sh begins with."""
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    tasks = Path(os.environ.get("TASKS") or ROOT / "data" / "tasks" / "IL.jsonl")
    demonstrations = first_tasks(tasks, number("NUM_DEMONSTRATIONS", 150, least=1), tasks.stem)
    rounds = [Round("IL", demonstrations, agent="teacher")]
    policy = Path(os.environ.get("POLICY") or whole.starting_policy).resolve()
    training = dataclasses.replace(whole.training, train_epochs=number("TRAIN_EPOCHS", 1, least=1))
    whole = dataclasses.replace(whole, starting_policy=policy, num_test_tasks=15, reference=None, training=training)
    return dataclasses.replace(whole, name="online-warm-start", rounds=rounds)
