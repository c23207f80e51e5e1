"""Write the task files of the embedded websites: python -m environments.sites.make_tasks

    data/tasks/IL.jsonl, optim-1.jsonl, optim-2.jsonl, optim-3.jsonl, test.jsonl
    data/tasks/IL-2.jsonl: 225 more of the kind of IL.jsonl, to imitate or to explore
    data/tasks/test-2.jsonl: 225 more test tasks; validation.jsonl: to choose settings by
    data/tasks/looking/<the first five names, validation>: what only a picture shows
    data/tasks/reworded/test.jsonl: the tasks of test.jsonl in words that nobody learns from
    data/tasks/graded/<the first five names>: tasks of graded difficulty, from one step to eight
    data/tasks/voyage/1.jsonl to 6.jsonl: 300 more each about what the tasks of IL.jsonl are about, for many rounds

The same seed gives the same files, byte for byte. No two files share an entity, those about IL's apart.
"""

import dataclasses
import random
from pathlib import Path

from common import cli
from data.task import SITES_PORT, Task, write_tasks
from environments.sites import graded
from environments.sites.content import Content, build
from environments.sites.encyclopedia import tasks as encyclopedia
from environments.sites.forum import tasks as forum
from environments.sites.gallery import tasks as gallery
from environments.sites.instructions import ALL_WORDINGS, OPENERS, REWORDED, parse, render
from environments.sites.shop import tasks as shop
from environments.sites.timetable import tasks as timetable
from environments.sites.truth import Instance
from environments.sites.words import SPLITS

TASKS_PER_FAMILY = {"IL": 35, "optim-1": 5, "optim-2": 5, "optim-3": 5, "test": 5, "test-2": 15, "validation": 10}
IL_TASKS = 300
"""The first ones of the split; the others stand in a file of their own."""
GRADED_TASKS_PER_LEVEL = {"IL": 20, "optim-1": 5, "optim-2": 5, "optim-3": 5, "test": 5}
VOYAGE_TASKS_PER_FAMILY, VOYAGE_FILES = 120, 6
LOOKING_TASKS_PER_FAMILY = {"IL": 40, "optim-1": 10, "optim-2": 10, "optim-3": 10, "test": 20, "validation": 10}
_MAKERS = {"shop": shop, "encyclopedia": encyclopedia, "forum": forum, "timetable": timetable}


@dataclasses.dataclass(frozen=True)
class Config:
    """Write the task files of the embedded websites."""

    output_dir: Path = Path("data/tasks")
    """Where the files go."""
    seed: int = 0
    """Seed of the sites the tasks are about; `python -m environments.sites` serves 0 unless told otherwise."""


def main(config: Config) -> None:
    """Write one file per split, and a second one for IL."""
    content = build(config.seed)
    for split in SPLITS:
        tasks = make_tasks(content, split)
        first = IL_TASKS if split == "IL" else len(tasks)
        write_tasks(config.output_dir / f"{split}.jsonl", tasks[:first])
        if tasks[first:]:
            write_tasks(config.output_dir / f"{split}-2.jsonl", tasks[first:])
    write_tasks(config.output_dir / "reworded" / "test.jsonl", make_reworded_tasks(content))
    for split, count in LOOKING_TASKS_PER_FAMILY.items():
        write_tasks(config.output_dir / "looking" / f"{split}.jsonl", make_looking_tasks(content, split, count))
    voyage = make_voyage_tasks(content)
    for number in range(VOYAGE_FILES):
        size = len(voyage) // VOYAGE_FILES
        write_tasks(config.output_dir / "voyage" / f"{number + 1}.jsonl", voyage[number * size : (number + 1) * size])
    for split in GRADED_TASKS_PER_LEVEL:
        write_tasks(config.output_dir / "graded" / f"{split}.jsonl", make_graded_tasks(content, split))


def make_tasks(content: Content, split: str) -> list[Task]:
    """The tasks of a split; every family uses all its wordings.

    They stand in turn, so that the first of them are of all families alike.
    """
    return _all_families(content, split, split, TASKS_PER_FAMILY[split])


def make_voyage_tasks(content: Content) -> list[Task]:
    """More tasks about the entities of IL, of all families in turn: other ones, or in other words."""
    known = TASKS_PER_FAMILY["IL"]
    tasks = _all_families(content, "IL", "voyage", known + VOYAGE_TASKS_PER_FAMILY)
    return [task for task in tasks if int(task.id[-3:]) >= known]


def make_reworded_tasks(content: Content) -> list[Task]:
    """The test tasks under other ids and in other words."""
    tasks = []
    for task in make_tasks(content, "test"):
        instruction = parse(task.ques)
        assert instruction is not None  # we wrote it
        ques = f"{REWORDED[instruction.family].format(**instruction.slots)}."
        tasks.append(dataclasses.replace(task, id=task.id.replace("-test--", "-reworded--"), ques=ques))
    return tasks


def make_looking_tasks(content: Content, split: str, count: int) -> list[Task]:
    """`count` tasks of each family, in turn."""
    rng = random.Random(f"looking instructions {split}")
    families = gallery.instances(content.gallery, split, count)
    drawn = [(number, family, instances[number]) for number in range(count) for family, instances in families.items()]
    return [_task("gallery", family, split, number, instance, rng) for number, family, instance in drawn]


def make_graded_tasks(content: Content, split: str) -> list[Task]:
    """The graded tasks of a split, level by level; their `domain` is the level, so that reports group by it."""
    tasks = []
    for level in graded.LEVELS:
        site = graded.SITES[level]
        for number, (slots, path) in enumerate(graded.draw(content, split, level, GRADED_TASKS_PER_LEVEL[split])):
            instance, _ = graded.instance_of(content, level, slots)
            task = Task(
                id=f"{level}-{split}--{number:03d}",
                ques=render(level, 0, "", slots),
                web=f"http://{site}.localhost:{SITES_PORT}{path}",
                web_name=site.capitalize(),
                domain=level,
                eval=instance.eval,
            )
            tasks.append(task)
    return tasks


def _all_families(content: Content, split: str, name: str, count: int) -> list[Task]:
    """`count` tasks of each family about the entities of `split`, in turn, called `name`."""
    rng = random.Random(f"instructions {name}")
    tasks = []
    for site, maker in _MAKERS.items():
        for family, instances in maker.instances(getattr(content, site), split, count).items():
            tasks += [_task(site, family, name, number, instance, rng) for number, instance in enumerate(instances)]
    return sorted(tasks, key=lambda task: task.id[-3:])


def _task(site: str, family: str, split: str, number: int, instance: Instance, rng: random.Random) -> Task:
    ques = render(family, number % len(ALL_WORDINGS[family]), rng.choice(OPENERS), instance.slots)
    return Task(
        id=f"{family}-{split}--{number:03d}",
        ques=ques,
        web=f"http://{site}.localhost:{SITES_PORT}/",
        web_name=site.capitalize(),
        eval=instance.eval,
    )


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
