"""Write the task files of the embedded websites: python -m environments.sites.make_tasks

    data/tasks/IL.jsonl, optim-1.jsonl, optim-2.jsonl, optim-3.jsonl, test.jsonl
    data/tasks/graded/<the same names>: tasks of graded difficulty, from one step to eight

The same seed gives the same files, byte for byte. No two files share an entity.
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
from environments.sites.instructions import OPENERS, WORDINGS, render
from environments.sites.shop import tasks as shop
from environments.sites.timetable import tasks as timetable
from environments.sites.truth import Instance
from environments.sites.words import SPLITS

TASKS_PER_FAMILY = {"IL": 35, "optim-1": 5, "optim-2": 5, "optim-3": 5, "test": 5}
GRADED_TASKS_PER_LEVEL = {"IL": 20, "optim-1": 5, "optim-2": 5, "optim-3": 5, "test": 5}
_MAKERS = {"shop": shop, "encyclopedia": encyclopedia, "forum": forum, "timetable": timetable}


@dataclasses.dataclass(frozen=True)
class Config:
    """Write the task files of the embedded websites."""

    output_dir: Path = Path("data/tasks")
    """Where the files go."""
    seed: int = 0
    """Seed of the sites the tasks are about; `python -m environments.sites` serves 0 unless told otherwise."""


def main(config: Config) -> None:
    """Write one file per split."""
    content = build(config.seed)
    for split in SPLITS:
        write_tasks(config.output_dir / f"{split}.jsonl", make_tasks(content, split))
        write_tasks(config.output_dir / "graded" / f"{split}.jsonl", make_graded_tasks(content, split))


def make_tasks(content: Content, split: str) -> list[Task]:
    """The tasks of a split, family by family; every family uses all its wordings."""
    rng = random.Random(f"instructions {split}")
    tasks = []
    for site, maker in _MAKERS.items():
        families = maker.instances(getattr(content, site), split, TASKS_PER_FAMILY[split])
        for family, instances in families.items():
            tasks += [_task(site, family, split, number, instance, rng) for number, instance in enumerate(instances)]
    return tasks


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


def _task(site: str, family: str, split: str, number: int, instance: Instance, rng: random.Random) -> Task:
    ques = render(family, number % len(WORDINGS[family]), rng.choice(OPENERS), instance.slots)
    return Task(
        id=f"{family}-{split}--{number:03d}",
        ques=ques,
        web=f"http://{site}.localhost:{SITES_PORT}/",
        web_name=site.capitalize(),
        eval=instance.eval,
    )


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
