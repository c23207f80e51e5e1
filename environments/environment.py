"""What an agent acts in: begin a task, observe, act, say how it ended, close. The agent loop knows nothing else of it.

A browser's page is one kind (`environments/browser/environment.py`). Another kind is a class of these five methods; its
world (`environments/world.py`) opens it.
"""

import abc
import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from common.errors import UserError
from data.action_spaces.space import ActionSpace
from data.action_spaces.webvoyager import SPACE
from data.actions.action import ActionError, Answer
from data.actions.point_action import AnyAction
from data.actions.screen import Screen, Size, png_size, screen_text
from data.task import Task


@dataclass(frozen=True)
class Observation:
    """What the agent sees: `tree`, the elements as text, each with its label, and a PNG.

    `nodes` by label say what an action on it refers to (accessibility nodes or marks with `union_bound` [x, y, width,
    height] in a browser). `files` came since the last observation. `note` is what looking tells of the last action.
    `viewport` is where points may lie, in CSS pixels;
    None: nothing here is done at points. `tabs` are lines about the open tabs.
    """

    url: str
    tree: str
    nodes: dict[int, dict[str, Any]] = field(repr=False)
    screenshot_base64: str = field(repr=False)
    files: tuple[Path, ...] = ()
    viewport: Size | None = None
    tabs: tuple[str, ...] = ()
    note: str = ""

    @property
    def screen(self) -> Screen:
        """What the screenshot shows, by its own size.

        Raises:
            UserError: nothing here is done at points.
        """
        if self.viewport is None:
            raise UserError("here nothing is done at points of a screenshot; give --action_space webvoyager")
        return Screen(self.viewport, png_size(base64.b64decode(self.screenshot_base64[:32])))

    @property
    def screen_text(self) -> str:
        """What an agent reads beside the screenshot where it acts at points."""
        return screen_text(self.tabs or (f"0, in front: {self.url}",))

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
    async def act(self, action: AnyAction) -> str:
        """Carry out the action on what was observed last. Returns notes: truths about it for the agent to read, or "".

        Raises:
            ActionError: it cannot be carried out; the message is the feedback.
        """

    async def is_over(self) -> bool:
        """Whether nothing more counts, whatever the agent does: a game that is won or lost ends the task by itself."""
        return False

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
    """What came of a reply: the last action, None where none could be used, and what the agent reads next. `actions`
    are all that were tried, in an action space whose feedback tells what came of them. `is_over`: the environment ended
    the task."""

    action: AnyAction | None
    feedback: str = ""
    notes: str = ""
    actions: tuple[AnyAction, ...] = ()
    is_over: bool = False

    @property
    def answer(self) -> str | None:
        """What the agent ended the task with: nothing said, where the environment ended it; None: it goes on."""
        if isinstance(self.action, Answer):
            return self.action.content
        return "" if self.is_over else None


def told(response: Response, seen: Observation, space: ActionSpace = SPACE) -> Response:
    """The response with what looking afterwards tells of it, among the notes, or the feedback where that tells all."""
    if not seen.note:
        return response
    kind = "notes" if space.fixed_feedback else "feedback"
    return replace(response, **{kind: " ".join(filter(None, [getattr(response, kind), seen.note]))})


async def respond(environment: Environment, reply: str, seen: Observation, space: ActionSpace = SPACE) -> Response:
    """Carry out what an agent replied to what it has `seen`, in the words of an action space."""
    response = await _respond(environment, reply, seen, space)
    return replace(response, is_over=response.answer is None and await environment.is_over())


async def _respond(environment: Environment, reply: str, seen: Observation, space: ActionSpace) -> Response:
    try:
        if space.fixed_feedback:
            [action] = space.parse(reply, None).actions
            return Response(action, notes=await environment.act(action))
        return await _in_order(environment, space.parse(reply, seen.screen if space.scale else None).actions)
    except ActionError as error:
        return Response(None, str(error), error.reason)


async def _in_order(environment: Environment, actions: Sequence[AnyAction]) -> Response:
    """Until one fails or ends the task. What came of them is feedback, which every model reads."""
    said, done = [], 0
    for done, action in enumerate(actions, start=1):
        try:
            said.append(await environment.act(action))
        except ActionError as error:
            left_out = " What followed it in your reply was not done." if done < len(actions) else ""
            said.append(f"Failed: {error.reason or error}{left_out}")
            break
        if isinstance(action, Answer):
            break
    return Response(actions[done - 1], " ".join(filter(None, said)), actions=tuple(actions[:done]))
