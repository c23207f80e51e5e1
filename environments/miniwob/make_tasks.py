"""Task files of MiniWoB++ to learn from and to test with: python -m environments.miniwob.make_tasks

train.jsonl, validation.jsonl and test.jsonl hold the same kinds of task with seeds of their own; test_kinds.jsonl holds
kinds that no other file has, each with its variants (`click-tab-2-easy` is one of `click-tab`). All of them can be done
by numbers, with the complete tree (docs/reference/miniwob_tasks.md).
"""

import asyncio
import dataclasses
import re
from pathlib import Path
from typing import Annotated

from common import cli
from common.errors import UserError
from common.options.limits import Checked, at_least
from data.task import SITES_PORT, Task, write_tasks
from environments.miniwob.abilities import doable
from environments.miniwob.world import World

HELD_OUT = {
    *("click-widget", "count-sides", "drag-sort-numbers", "enter-password", "find-word", "focus-text"),
    *("generate-number", "odd-or-even", "read-table", "scroll-text", "simple-algebra", "use-colorwheel"),
}
_VARIANT = re.compile(r"(-\d+|-easy|-medium|-hard|-large|-soft|-transfer|-nodelay|-popup|-dynamic)+$")
_FIRST_SEED = {"train": 0, "validation": 100_000, "test": 200_000}


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Read the tasks from the pages, and write them."""

    output_dir: Path = Path(__file__).parent / "tasks"
    """Folder of the files."""
    kinds: tuple[str, ...] = ()
    """Only these kinds, such as click-test-2; a file that none of them belongs to is not written. None: all that can be
    done."""
    train_seeds: Annotated[int, at_least(1)] = 8
    """Tasks of each kind in train.jsonl."""
    validation_seeds: Annotated[int, at_least(1)] = 2
    """The same in validation.jsonl."""
    test_seeds: Annotated[int, at_least(1)] = 3
    """The same in test.jsonl, and twice as many in test_kinds.jsonl."""


def main(config: Config) -> None:
    """Write all files."""
    kinds = doable("webvoyager")
    if unknown := sorted(set(config.kinds) - set(kinds)):
        raise UserError(f"--kinds {unknown[0]}: is not done by numbers; there are {', '.join(kinds)}")
    kinds = [kind for kind in kinds if kind in config.kinds or not config.kinds]
    known = [kind for kind in kinds if family(kind) not in HELD_OUT]
    held_out = [kind for kind in kinds if family(kind) in HELD_OUT]
    files = {
        "train": (known, config.train_seeds, "train"),
        "validation": (known, config.validation_seeds, "validation"),
        "test": (known, config.test_seeds, "test"),
        "test_kinds": (held_out, 2 * config.test_seeds, "test"),
    }
    for name, (chosen, number, split) in files.items():
        if not chosen:
            continue  # of --kinds none belongs there
        tasks = read(chosen, range(_FIRST_SEED[split], _FIRST_SEED[split] + number))
        path = config.output_dir / f"{name}.jsonl"
        write_tasks(path, tasks)
        print(f"{path}: {len(tasks)} tasks of {len(chosen)} kinds")


def family(kind: str) -> str:
    """The kind that this one is a variant of, or itself."""
    return _VARIANT.sub("", kind)


def read(kinds: list[str], seeds: range) -> list[Task]:
    """Each kind with each seed, at the usual port."""
    world = World(env_tasks=tuple(kinds), env_seeds=tuple(seeds))
    with world.serve():
        tasks = asyncio.run(world.tasks())
        tasks.sort(key=lambda task: int(task.id.rpartition("--")[2]))  # kind after kind in turn
        return [dataclasses.replace(task, web=_usual(task.web, world.port)) for task in tasks]


def _usual(web: str, port: int) -> str:
    return web.replace(f":{port}/", f":{SITES_PORT}/", 1)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
