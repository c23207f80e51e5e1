"""A notepad on which lines are written. All sessions share it, and it can be put back."""

import base64
import contextlib
import dataclasses
import io
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from data.actions.action import CANNOT_EXECUTE, Action, ActionError, Answer, Type
from data.task import Task
from environments import world
from environments.environment import Environment, Observation, Open


@dataclasses.dataclass
class World(world.World):
    """Two tasks whose scripts are for the policy of `tests/environments/website.py`."""

    notes: list[str] = dataclasses.field(default_factory=lambda: ["milk"])

    async def tasks(self) -> list[Task]:
        after = {"eval_types": ["site_state"], "site_state": {"notes": ["milk", "bread"]}}
        found = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "milk"}}
        write, read = "Click [1] | Type [1]; bread | ANSWER; done", "ANSWER; milk"
        shared = {"web": "notepad://first", "backend": "pad"}
        return [
            Task("write", write, **shared, eval=after, changes_backend=True),
            Task("read", read, **shared, eval=found),
        ]

    @contextlib.asynccontextmanager
    async def environments(self, tasks: Sequence[Task], num_sessions: int) -> AsyncIterator[Open]:
        async def open_environment(session: int, downloads: Path) -> Environment:
            return Notepad(self.notes)

        yield open_environment

    async def snapshot(self) -> None:
        self.first = list(self.notes)

    async def restore(self, backend: str = "") -> bool:
        if backend:
            self.notes[:] = self.first
        return bool(backend)

    @property
    def judge(self) -> str:
        return "oracle"


class Notepad(Environment):
    """Element 1 is the pad: what is typed into it is its next line."""

    def __init__(self, notes: list[str]):
        self._notes = notes

    async def reset(self, task: Task, seed: int | None = None) -> None:
        self._url = task.web

    async def observe(self) -> Observation:
        picture = io.BytesIO()
        Image.new("RGB", (64, 48), "white").save(picture, "PNG")
        tree = f"[1] textbox 'Notes: {', '.join(self._notes)}'"
        return Observation(self._url, tree, {1: {}}, base64.b64encode(picture.getvalue()).decode())

    async def act(self, action: Action) -> str:
        if isinstance(action, Answer):
            return ""
        if not isinstance(action, Type):
            raise ActionError(CANNOT_EXECUTE, "One can only write here.")
        self._notes.append(action.content)
        return "It is written."

    async def final_state(self) -> dict[str, Any]:
        return {"final_state": {"notes": list(self._notes)}}

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def provenance(self) -> dict[str, Any]:
        return {"paper": "white"}
