"""Task files of the phone: python -m environments.touch.make_tasks

train.jsonl, validation.jsonl and test.jsonl hold every family, each task on a phone of its own. No two files share a
phone, a product or a page of the web. The same files come out each time, byte for byte.
"""

import dataclasses
from collections.abc import Container
from pathlib import Path
from typing import Annotated

from common import cli
from common.options.limits import Checked, between
from data.task import Task, write_tasks
from environments.touch.families import FAMILIES
from environments.touch.families.family import SPLITS

MOST_SEEDS = SPLITS["validation"][0] // len(FAMILIES)  # more would reach the phones of the next split


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Write the task files of the phone."""

    output_dir: Path = Path("data/tasks/touch")
    """Folder of the files."""
    train_seeds: Annotated[int, between(1, MOST_SEEDS)] = 60
    """Tasks of each family in train.jsonl."""
    validation_seeds: Annotated[int, between(1, MOST_SEEDS)] = 4
    """The same in validation.jsonl."""
    test_seeds: Annotated[int, between(1, MOST_SEEDS)] = 6
    """The same in test.jsonl."""


def main(config: Config) -> None:
    """Write all files."""
    counts = {"train": config.train_seeds, "validation": config.validation_seeds, "test": config.test_seeds}
    for split, count in counts.items():
        path, tasks = config.output_dir / f"{split}.jsonl", make_tasks(split, count)
        write_tasks(path, tasks)
        print(f"{path}: {len(tasks)} tasks of {len(FAMILIES)} families")


def make_tasks(split: str, count: int, only: Container[str] = FAMILIES) -> list[Task]:
    """`count` tasks of each family, in turn, so that the first of them are of all families alike. Those of another
    family are on other phones. `only`: of these families, the same tasks as among those of all."""
    first_seed, _ = SPLITS[split]
    families = list(FAMILIES.values())
    numbered = [(number, place) for number in range(count) for place in range(len(families))]
    return [
        families[place].task(first_seed + number * len(families) + place)
        for number, place in numbered
        if families[place].name in only
    ]


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
