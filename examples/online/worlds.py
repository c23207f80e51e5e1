"""Worlds that compare.py learns in: how each is browsed, which tasks are explored, and which are held out."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recipe import of_many_kinds

from common.defaults import ROOT
from common.errors import UserError
from data.task import Task, family_of_task, read_tasks
from elcano.executors.executor import Command
from elcano.executors.local import Executor
from elcano.online import OnlineRecipe
from elcano.recipe import load_value
from elcano.variables import switch
from environments.miniwob import make_tasks

_KINDS = ("Shop-price", "Shop-cart", "Forum-views")
"""Of the embedded websites' tasks those in which the warm start sometimes succeeds."""
_EXPLORED = ("IL-2", "optim-1", "optim-2", "optim-3", *(f"voyage/{n}" for n in range(1, 6)))
_HELD_OUT = ("test", "test-2", "validation", *(f"voyage/{n}" for n in range(1, 7)))
_HELD_OUT_SEED = 1
"""Of websites whose contents nobody learned of."""
_APPS = ROOT / "examples" / "apps" / "warm_start.py"
_APP_TASKS = 120
"""At most, of each template. What is explored and what is held out are told apart among as many of both."""
_PHONE = ROOT / "examples" / "digirl" / "phone_warm_start.py"


@contextlib.contextmanager
def _served_by_the_collector(executor: Executor, is_held_out: bool, log: Path) -> Iterator[Mapping[str, Any]]:
    yield {}


@dataclasses.dataclass(frozen=True)
class World:
    """`browsing` are flags of the collector, `exploring` those of the pool alone; `served` gives those that say where
    the world is, while it lives; `suited` makes a recipe one for this world. Held-out tasks may be made in a folder."""

    warm_start: Path
    browsing: Mapping[str, Any]
    explored: Callable[[], Sequence[Task]]
    held_out: Callable[[Executor, Path], Sequence[Task]]
    served: Callable[[Executor, bool, Path], contextlib.AbstractContextManager[Mapping[str, Any]]] = (
        _served_by_the_collector
    )
    exploring: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    suited: Callable[[OnlineRecipe], OnlineRecipe] = lambda recipe: recipe

    def tests(self, executor: Executor, folder: Path, per_kind: int) -> list[Task]:
        """So many held-out tasks of each kind, kind by kind."""
        kinds: dict[str, list[Task]] = {}
        for task in self.held_out(executor, folder):
            kinds.setdefault(family_of_task(task.id), []).append(task)
        return [task for tasks in kinds.values() for task in tasks[:per_kind]]


@contextlib.contextmanager
def _serve_sites(executor: Executor, is_held_out: bool, log: Path) -> Iterator[Mapping[str, Any]]:
    seed = _HELD_OUT_SEED if is_held_out else 0

    def command(_: str, port: int) -> Command:
        return Command([sys.executable, "-m", "environments.sites", "--seed", str(seed), "--port", str(port)], log)

    with executor.service(command, "/health") as url:
        yield {"sites_port": urlsplit(url).port}


def _make_sites_tasks(executor: Executor, folder: Path) -> list[Task]:
    words = [sys.executable, "-m", "environments.sites.make_tasks", "--seed", str(_HELD_OUT_SEED)]
    executor.run(Command([*words, "--output_dir", str(folder)], folder / "make_tasks.log"))
    return _of_chosen_kinds(folder, _HELD_OUT)


def _of_chosen_kinds(folder: Path, files: Sequence[str]) -> list[Task]:
    """Kind by kind, and of a kind file by file."""
    tasks = [task for name in files for task in read_tasks(folder / f"{name}.jsonl")]
    return [task for kind in _KINDS for task in tasks if family_of_task(task.id) == kind]


def _read_miniwob_tasks(seeds: range) -> list[Task]:
    """Of the kinds that the warm start sometimes solves, and not always."""
    return make_tasks.read(["choose-list", "click-button-sequence", "click-tab"], seeds)


def _read_app_tests() -> list[Task]:
    """Of known templates, and of UNSEEN ones unless that is empty. ONLY_UNSEEN=true: of these alone."""
    only, none = switch("ONLY_UNSEEN"), os.environ.get("UNSEEN") == ""
    if only and none:
        raise UserError("ONLY_UNSEEN: UNSEEN is empty, so nothing would be tested; name templates there")
    files = ("test",) if only else ("test_known",) if none else ("test_known", "test")
    paths = [load_value(_APPS, "tasks", Path, file=file, count=_APP_TASKS) for file in files]
    return [task for path in paths for task in read_tasks(path)]


WORLDS = {
    "sites": World(
        warm_start=ROOT / "runs" / "online" / "warm_start" / "IL" / "policy",
        browsing={"max_iter": 8},
        explored=lambda: _of_chosen_kinds(ROOT / "data" / "tasks", _EXPLORED),
        held_out=_make_sites_tasks,
        served=_serve_sites,
    ),
    "miniwob": World(
        warm_start=ROOT / "runs" / "miniwob" / "warm_start" / "IL" / "policy",
        browsing={"env": "miniwob", "tree_visibility": "complete", "max_iter": 8},
        exploring={"curriculum_floor": 0.2},
        explored=lambda: _read_miniwob_tasks(range(200)),
        held_out=lambda *_: _read_miniwob_tasks(range(200_000, 200_100)),
    ),
    "apps": World(
        warm_start=ROOT / "runs" / "apps" / "warm_start" / "IL" / "policy",
        browsing={"env": "apps", "tree_visibility": "complete", "max_iter": 8},
        exploring={"curriculum_floor": 0.2, "max_iter": 5},  # SHORT templates take four at most
        explored=lambda: read_tasks(load_value(_APPS, "tasks", Path, file="train", count=_APP_TASKS)),
        held_out=lambda *_: _read_app_tests(),
    ),
    "touch": World(
        warm_start=ROOT / "runs" / "phone" / "warm_start" / "IL" / "policy",
        browsing={"env": "touch", "action_space": "appagent", "max_iter": 10},
        explored=lambda: read_tasks(load_value(_PHONE, "explored", Path)),
        held_out=lambda *_: read_tasks(load_value(_PHONE, "tasks", Path, split="test", count=50)),
        suited=of_many_kinds,
    ),
}
