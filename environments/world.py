"""A world: tasks with ground truth, what they are about, and environments to take them in. All a collector asks of it.

`environments/<name>/world.py` holds a dataclass `World`, whose fields are its settings; nothing else knows its name.
A name with a dot is a module of one's own that has a `World`, anywhere on PYTHONPATH.
"""

import abc
import contextlib
import dataclasses
import importlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.options.own_module import attribute_of, is_own
from data.task import Task
from environments.environment import Open
from environments.ground_truth import KINDS, find_fault


@dataclasses.dataclass
class World(abc.ABC):
    """In the order of use: `serve`, `tasks`, `restore`, `snapshot`, `check`, `environments`, `restore` in between."""

    @property
    def note(self) -> str:
        """A line about the tasks where nobody named any, else empty."""
        return ""

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        """Run what its tasks are about until the block ends, where nobody else runs it; gives `note` and a line about
        that."""
        yield self.note

    @contextlib.contextmanager
    def serve_again(self) -> Iterator[None]:
        """On another machine: what `serve` runs, at the same addresses, until the block ends."""
        yield

    @abc.abstractmethod
    async def tasks(self) -> list[Task]:
        """Its tasks, each with its ground truth in `eval`. Within `serve`.

        Raises:
            UserError: there is no such file, or no such task.
        """

    def check(self, tasks: Sequence[Task]) -> None:
        """Raise UserError for a task that cannot be taken or judged, before anything is collected or runs."""
        return None

    @abc.abstractmethod
    def environments(self, tasks: Sequence[Task], num_sessions: int) -> AbstractAsyncContextManager[Open]:
        """Opens environments for these tasks, in so many sessions at the same time, until the block ends."""

    async def snapshot(self) -> None:
        """Remember the present state as the first one. Where somebody else knows it, as the author of a reset command
        does, or nothing is shared by sessions, there is nothing to do."""
        return None

    async def restore(self, backend: str = "") -> bool:
        """Put this backend, or everything, back to its first state; False where nothing was done.

        Raises:
            UserError: it failed.
        """
        return False

    def reward(self, task: Task, answer: str | None, final_state: dict[str, Any]) -> float | None:
        """1 or 0 by the task's ground truth; None where only a judge can tell. `answer` None: the agent gave none."""
        kinds = (task.eval or {}).get("eval_types", [])
        if not kinds or not set(kinds) <= set(KINDS):
            return None
        return float(answer is not None and not find_fault(task, answer, final_state.get("final_state")))

    @property
    def judge(self) -> str:
        """The judge that its ground truth is made for, where a run names none."""
        return "none"


def make_world(name: str, /, **settings: Any) -> World:
    """The world in `environments/<name>/`, or that of the module `name`.

    Raises:
        UserError: there is none, or it has no such setting.
    """
    world = _world_class(name)
    known = {field.name for field in dataclasses.fields(world)}
    if unknown := sorted(settings.keys() - known):
        raise UserError(f"the world {name} has no setting {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}")
    return world(**settings)


def choose_settings(name: str, offered: dict[str, Any]) -> dict[str, Any]:
    """Of what a command offers, the settings that this world has."""
    known = {field.name for field in dataclasses.fields(_world_class(name))}
    return {setting: value for setting, value in offered.items() if setting in known}


def world_names() -> list[str]:
    """The folders here that hold a world."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/world.py"))


def _world_class(name: str) -> type[World]:
    if is_own(name):
        return attribute_of(name, "World", f"the world {name}")
    if name not in world_names():
        known = ", ".join(world_names())
        raise UserError(f"there is no world {name!r}; known are {known}, or the module path of your own")
    return importlib.import_module(f"environments.{name}.world").World
