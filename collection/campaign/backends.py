"""Servers whose state all their tasks share: reset after a task that changed it, and a mark where that was not done.

`backends.json` in the output folder names the task that changed a backend last and was not followed by a reset. It is
written before such a task begins, so that a collector that is killed in the middle leaves the truth behind.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from common.errors import UserError
from common.files import locked, read_object, write_json
from data.task import Task


class Backends:
    """The state of all backends, as far as it is known. `restore` puts one back, as `World.restore` does; `say` tells
    the user that it failed."""

    def __init__(self, output_dir: Path, restore: Callable[[str], Awaitable[bool]], say: Callable[[str], None]):
        self._path, self._restore, self._say = output_dir / "backends.json", restore, say

    async def before(self, task: Task) -> None:
        """Call when the task may begin; a backend left dirty is reset first where that can be done."""
        if self.contaminated_by(task) and task.changes_backend:  # alone there, so nobody is disturbed
            await self._reset(task.backend)

    def begin(self, task: Task) -> None:
        """From now on the backend may be changed."""
        if task.backend and task.changes_backend:
            self._note(task.backend, self.contaminated_by(task) or task.id)

    async def after(self, task: Task) -> None:
        """Call when the task is judged."""
        if task.backend and task.changes_backend:
            await self._reset(task.backend)

    def contaminated_by(self, task: Task) -> str:
        """The task that may have changed what this one finds, "" when there is none."""
        return self._changed_by().get(task.backend, "") if task.backend else ""

    async def _reset(self, backend: str) -> None:
        try:
            if await self._restore(backend):
                self._note(backend, "")
        except UserError as error:  # what follows is marked, and the run goes on
            self._say(f"{backend} was not put back: {error}")

    def _changed_by(self) -> dict[str, str]:
        """Read anew each time: another collector may share the folder."""
        return read_object(self._path) if self._path.exists() else {}

    def _note(self, backend: str, task_id: str) -> None:
        with locked(self._path):
            changed = self._changed_by() | {backend: task_id}
            write_json(self._path, {name: by for name, by in changed.items() if by})
