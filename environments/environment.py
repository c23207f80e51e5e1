"""What an agent acts in: begin a task, observe, act, say how it ended, close. The agent loop knows nothing else of it.

A browser's page is one kind (`environments/browser/environment.py`). Another kind is a class of these five methods; its
world (`environments/world.py`) opens it.
"""

import abc
import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from data.action import Action, ActionError, Answer, parse_reply
from data.task import Task


@dataclass(frozen=True)
class Observation:
    """What the agent sees: `tree`, the elements as text, each with its label, and a PNG.

    `nodes` by label say what an action on it refers to (accessibility nodes or marks with `union_bound` [x, y, width,
    height] in a browser). `files` came since the last observation.
    """

    url: str
    tree: str
    nodes: dict[int, dict[str, Any]] = field(repr=False)
    screenshot_base64: str = field(repr=False)
    files: tuple[Path, ...] = ()

    @property
    def screenshot_png(self) -> bytes:
        return base64.b64decode(self.screenshot_base64)


class Environment(abc.ABC):
    """Serves one task: `reset` once, then `observe` and `act` in turn. Use as `async with` to close it.

    Everything may raise what `environments/faults.py` holds: faults are not the agent's.
    """

    @abc.abstractmethod
    async def reset(self, task: Task, seed: int | None = None) -> None:
        """Begin the task; what a run leaves to chance follows `seed`. Observed apart, so that both can be timed."""

    @abc.abstractmethod
    async def observe(self) -> Observation:
        """What there is to see now."""

    @abc.abstractmethod
    async def act(self, action: Action) -> str:
        """Carry out the action on what was observed last. Returns notes: truths about it for the agent to read, or "".

        Raises:
            ActionError: it cannot be carried out; the message is the feedback.
        """

    @abc.abstractmethod
    async def final_state(self) -> dict[str, Any]:
        """What the task's ground truth looks at after the last step: JSON by the name of the file that keeps it."""

    @abc.abstractmethod
    async def close(self) -> None:
        """Give back what it uses. Never raises."""

    @property
    def provenance(self) -> dict[str, Any]:
        """What a trajectory says of where it was taken."""
        return {}

    @property
    def dead_host(self) -> object | None:
        """What it shared with other environments and has died, so that all their ends count as one fault."""
        return None

    async def freeze(self, frozen: bool) -> None:
        """Stop what moves by itself while the model thinks, or let it go on."""
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not asyncio.CancelledError:  # then the run ends, with all that it uses
            await self.close()


Open = Callable[[int, Path], Awaitable[Environment]]
"""Opens a fresh environment for the session with this number, which downloads into that folder."""


@dataclass(frozen=True)
class Response:
    """What came of a reply: the action, None where it could not be used, and what the agent reads next."""

    action: Action | None
    feedback: str = ""
    notes: str = ""

    @property
    def answer(self) -> str | None:
        """What the agent ended the task with."""
        return self.action.content if isinstance(self.action, Answer) else None


async def respond(environment: Environment, reply: str) -> Response:
    """Carry out what an agent replied."""
    try:
        action = parse_reply(reply).action
        return Response(action, notes=await environment.act(action))
    except ActionError as error:
        return Response(None, str(error), error.reason)
