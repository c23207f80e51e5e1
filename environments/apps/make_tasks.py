"""Task files of the applications: python -m environments.apps.make_tasks --output_dir DIR

train.jsonl holds the templates to learn from, test_known.jsonl the same templates with seeds of their own, and
test.jsonl templates that no other file has. test_skin.jsonl and test_app.jsonl hold those of applications that nobody
learns on: known ones with other looks, and others. Nobody is asked for the same thing twice. The same applications give
the same files; the hash of each is printed.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from common import cli
from common.files import file_digest
from common.options.limits import Checked, at_least
from data.task import Task, write_tasks
from environments.apps.application import Application, chosen_apps
from environments.apps.templates import Split, State, make_task, parse

HeldOut = Literal["nothing", "skin", "app"]
FILES: dict[str, tuple[tuple[Split, ...], int, HeldOut]] = {
    "train": (("train",), 0, "nothing"),
    "test_known": (("train",), 200_000, "nothing"),
    "test": (("test",), 0, "nothing"),
    "test_skin": (("train",), 200_000, "skin"),
    "test_app": (("train", "test"), 0, "app"),
}
"""By the name of a file: which templates, the first seed, and what of an application is held out."""


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Write the task files of what is installed."""

    output_dir: Path
    """Folder of the files."""
    apps: tuple[str, ...] = ()
    """Applications; none: all."""
    tasks_per_template: Annotated[int, at_least(1)] = 20
    """At most; of some templates there are fewer that differ."""
    quoted: bool = False
    """Whether names and what is wanted stand in double quotes, for policies too small to find them."""


def main(config: Config) -> None:
    """Write all files that have tasks."""
    for name in FILES:
        number, apps = config.tasks_per_template, chosen_apps(config.apps)
        tasks = [task for app in apps for task in tasks_of(app, name, number, config.quoted)]
        path = config.output_dir / f"{name}.jsonl"
        if not tasks:
            path.unlink(missing_ok=True)
            continue
        write_tasks(path, tasks)
        templates = {task.id.partition("--")[0] for task in tasks}
        print(f"{path}: {len(tasks)} tasks of {len(templates)} templates, sha256 {file_digest(path, 'sha256')[:16]}")


def tasks_of(app: Application, name: str, number: int, quoted: bool = False) -> Iterator[Task]:
    """An application's tasks in the file of this name."""
    splits, first, held_out = FILES[name]
    if held_out != _held_out(app):
        return
    state = State(app.seed_records)
    asked: set[str] = set()
    if name == "test_known":
        asked = {_key(app, task) for task in tasks_of(app, "train", number)}
    for template, about in app.module("tasks").TEMPLATES.items():
        if about.split in splits:
            drawn = (make_task(app, template, seed, state, quoted) for seed in range(first, first + number))
            yield from _new(app, drawn, asked)


def _held_out(app: Application) -> HeldOut:
    if not app.about.held_out:
        return "nothing"
    return "skin" if app.about.like else "app"


def _new(app: Application, tasks: Iterable[Task], asked: set[str]) -> Iterator[Task]:
    for task in tasks:
        if (key := _key(app, task)) not in asked:
            asked.add(key)
            yield task


def _key(app: Application, task: Task) -> str:
    """The same for what is asked in other words."""
    return str(parse(app.module("tasks").TEMPLATES, task.ques))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
