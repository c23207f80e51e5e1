"""The policy that learning on real applications begins with: the quickstart's, after it imitated the expert on them.

    elcano run examples/apps/warm_start.py --output_dir runs/apps/warm_start

Needs Fossil and Trac: python -m environments.apps install fossil trac. TEMPLATES names other kinds of tasks, and UNSEEN
those that only tests ask for; NUM_DEMONSTRATIONS is how many of each are imitated, TRAIN_EPOCHS how often. POLICY names
the Hugging Face folder of another policy to begin with. QUOTED=true puts the names in tasks into double quotes. What
came of it: docs/results/apps.md.
"""

import dataclasses
import itertools
import os
import zlib
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from data.task import write_tasks
from elcano.recipe import Recipe, Round, load_recipe
from elcano.variables import number, switch
from environments.apps.application import app_names, chosen_apps, make_app
from environments.apps.make_tasks import tasks_of

SHORT = (
    "fossil.ticket-severity fossil.release-author fossil.highest-tide fossil.open-ticket fossil.open-harbor "
    "trac.ticket-owner trac.ticket-priority trac.ship-capacity trac.open-ticket trac.open-ship trac.active-tickets"
)
"""Templates to learn from whose tasks take three or four steps on short pages."""
UNSEEN = "fossil.ticket-priority fossil.check-in-author trac.office-hours"
"""Templates of the held-out split that ask for something near."""
WORLD = {"env": "apps", "tree_visibility": "complete", "max_iter": 8, "num_sessions": 8}
"""Fields of Fossil have no name, and none has a number in the released tree."""


def recipe() -> Recipe:
    """One round of imitation; its Megatron checkpoint is what train_online.sh begins with."""
    whole = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    demonstrations = tasks("train", number("NUM_DEMONSTRATIONS", 40, least=1))
    pages = {"seq_len": 4096, "train_epochs": number("TRAIN_EPOCHS", 1, least=1)}
    return dataclasses.replace(
        whole,
        name="apps-warm-start",
        starting_policy=Path(os.environ.get("POLICY") or whole.starting_policy).resolve(),
        embedded_sites=False,
        test_tasks=tasks("test_known", 60),
        num_test_tasks=number("NUM_TEST_TASKS", 0, least=0) or None,
        rounds=[Round("IL", demonstrations, agent="teacher")],
        teacher=dataclasses.replace(whole.teacher, **WORLD),
        exploration=dataclasses.replace(whole.exploration, **WORLD),
        testing=dataclasses.replace(whole.testing, **WORLD),
        training=dataclasses.replace(whole.training, **pages),
        reference=None,
    )


def tasks(file: str, count: int) -> Path:
    """At most so many tasks of each chosen template, as in this file of `make_tasks`; the templates take turns. Of
    `test`: of each template that nobody learns from here, in whatever file it is."""
    chosen, files = (os.environ.get("TEMPLATES") or SHORT).split(), (file,)
    if file == "test":
        learned, chosen, files = chosen, (os.environ.get("UNSEEN") or UNSEEN).split(), ("test", "train", "test_known")
        if both := [template for template in chosen if template in learned]:
            raise UserError(f"UNSEEN: {both[0]!r} is among those that are learned from")
    quoted = switch("QUOTED")
    kind = zlib.crc32(f"{quoted} {' '.join(chosen)}".encode())
    path = ROOT / "runs" / "tasks" / f"apps-{file}-{count}-{kind:08x}.jsonl"
    apps = chosen_apps(tuple({_app_of(template) for template in chosen}))
    made = [task for app in apps for name in files for task in tasks_of(app, name, count, quoted)]
    by_template = [[task for task in made if task.id.startswith(f"{template}--")] for template in chosen]
    if file == "train" and not all(by_template):
        raise UserError(f"TEMPLATES: {chosen[by_template.index([])]!r} is held out; choose one that is learned from")
    write_tasks(path, [task for turn in itertools.zip_longest(*by_template) for task in turn if task])
    return path


def _app_of(template: str) -> str:
    name, _, rest = template.partition(".")
    if name in app_names() and rest not in make_app(name).module("tasks").TEMPLATES:
        raise UserError(f"TEMPLATES: {name} has no tasks {rest!r}")
    return name
