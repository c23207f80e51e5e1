"""The policy that learning on the phone begins with: the quickstart's, after it imitated the scripted policy a little.

    elcano run examples/digirl/phone_warm_start.py --output_dir runs/phone/warm_start

FAMILIES names other kinds of tasks, NUM_DEMONSTRATIONS how many of each kind are imitated, NUM_TEST_TASKS how many are
tested with in all, by default 13 of each kind. Few demonstrations on purpose: a policy that imitated to the end varies
too little to find out anything.
"""

import dataclasses
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from data.task import write_tasks
from elcano.recipe import Recipe, Round, load_recipe
from elcano.variables import number
from environments.touch.families import FAMILIES
from environments.touch.make_tasks import make_tasks

SHORT = "clock-switch clock-delete notes-read notes-delete mail-read mail-star mail-archive calendar-delete"
"""Families of level 1 whose tasks take three to six steps."""
PHONE = {"env": "touch", "action_space": "appagent", "max_iter": 10, "num_sessions": 8}
SCREENS = {"seq_len": 4096}
"""Of a training: a phone's tree is long."""


def recipe() -> Recipe:
    """One round of imitation; its Megatron checkpoint is what train_online.sh begins with."""
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    rounds = [Round("IL", tasks("train", number("NUM_DEMONSTRATIONS", 20, least=1)), agent="teacher")]
    return dataclasses.replace(on_phone(dataclasses.replace(whole, rounds=rounds)), name="phone-warm-start")


def on_phone(web: Recipe) -> Recipe:
    """A recipe of the embedded websites, rounds and all, with the phone's actions and test tasks."""
    return dataclasses.replace(
        web,
        test_tasks=tasks("test", 13),
        num_test_tasks=number("NUM_TEST_TASKS", 0, least=0) or None,
        rounds=[_of_screens(round) for round in web.rounds],
        embedded_sites=False,
        teacher=dataclasses.replace(web.teacher, **PHONE),
        exploration=dataclasses.replace(web.exploration, **PHONE),
        testing=dataclasses.replace(web.testing, **PHONE),
        training=dataclasses.replace(web.training, **SCREENS),
        reference=None,
    )


def _of_screens(round: Round) -> Round:
    trainings = {"training": round.training, "representation": round.representation}
    made = {name: dataclasses.replace(training, **SCREENS) for name, training in trainings.items() if training}
    return dataclasses.replace(round, **made)


def explored(count: int = 100) -> Path:
    """So many tasks of each family to explore, on phones that no demonstration and no test has."""
    return tasks("train", count, skipped=number("NUM_DEMONSTRATIONS", 20, least=1))


def tasks(split: str, count: int, skipped: int = 0) -> Path:
    """A file with so many tasks of each family, after those that are skipped."""
    families = _families()
    which = f"{skipped}+{count}" if skipped else str(count)
    path = ROOT / "runs" / "tasks" / f"phone-{split}-{which}-{zlib.crc32(' '.join(families).encode()):08x}.jsonl"
    if not path.exists():
        write_tasks(path, make_tasks(split, skipped + count, only=families)[skipped * len(families) :])
    return path


def _families() -> Sequence[str]:
    named = (os.environ.get("FAMILIES") or SHORT).split()
    if unknown := sorted(set(named) - FAMILIES.keys()):
        raise UserError(f"FAMILIES: the phone has no tasks {unknown[0]!r}; it has {', '.join(FAMILIES)}")
    return named
