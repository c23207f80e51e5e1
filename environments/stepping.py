"""Environments for programs and notebooks: reset, step, reward. One or several at once, blocking or asynchronous.

env = environments.make("sites")
view = env.reset()
view, reward, terminated, truncated, info = env.step("Thought: ...\n\nAction: Click [4]")
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from common.background import run_in_background
from common.errors import UserError
from common.reaper import scratch
from data.action_spaces.space import ActionSpace
from data.conversation import StepText
from data.task import Task
from environments.environment import Environment, Observation, Open, respond, told
from environments.world import World

Given = TypeVar("Given")


@dataclass(frozen=True)
class View:
    """What an agent is shown: the newest observation, and all that it was shown and said before.

    Args:
        episode: a name of its own, by which a server may know the episode again.
        steps: the newest one is without a reply.
        screenshots: base64 PNGs by step number, from 1.
    """

    task: Task
    episode: str
    seen: Observation
    steps: tuple[StepText, ...]
    screenshots: Mapping[int, str] = field(repr=False)

    @property
    def feedback(self) -> str:
        """Why the last reply could not be used, or ""."""
        return self.steps[-1].feedback


class Transition(NamedTuple):
    """What came of a reply, in Gymnasium's order. `info` holds `notes`, and at the end `answer`, `final_state` and
    whether the reward `is_judged`; where only a judge can tell, it is 0."""

    view: View
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def as_reply(action: str) -> str:
    """A reply of which only the action is said; a whole one is as it was."""
    return action if "Action:" in action else f"Thought: \n\nAction: {action}"


class Episode:
    """One environment of several; a fresh one for each task."""

    def __init__(
        self, world: World, open_environment: Open, number: int, folder: Path, max_steps: int, space: ActionSpace
    ):
        self._world, self._open, self._number, self._space = world, open_environment, number, space
        self._folder, self._max_steps = folder, max_steps
        self._environment: Environment | None = None
        self._last: Transition | None = None
        self._has_begun = False
        self._count = 0

    def refuse_steps(self) -> None:
        """Until a task begins: after a reset that was refused, nobody is to go on with the task before."""
        self._has_begun = False

    @property
    def is_over(self) -> bool:
        """Whether the task that began has ended; another step changes nothing."""
        return self._last is not None and (self._last.terminated or self._last.truncated)

    async def reset(self, task: Task, seed: int | None) -> View:
        """Begin the task."""
        self.refuse_steps()
        await self.close()
        self._count += 1
        name = f"{task.id}--{self._number}-{self._count}"
        self._environment = await self._open(self._number, self._folder / name)
        try:
            await self._environment.reset(task, seed)
            seen = await self._environment.observe()
        except Exception:
            await self.close()
            raise
        view = View(task, name, seen, (StepText(self._read(seen)),), {1: seen.screenshot_base64})
        self._last, self._has_begun = Transition(view, 0.0, False, False, {"notes": ""}), True
        return view

    async def step(self, reply: str) -> Transition:
        """Carry out the reply. What has ended stays as it is."""
        if self._environment is None or self._last is None or not self._has_begun:
            raise UserError("the environment has no task: call reset, and if that was refused, call it again")
        if self.is_over:
            return self._last
        response = await respond(self._environment, reply, self._last.view.seen, self._space)
        before = self._last.view
        seen = await self._environment.observe()
        response = told(response, seen, self._space)
        steps = (*before.steps[:-1], replace(before.steps[-1], reply=reply))
        view = replace(
            before,
            seen=seen,
            steps=(*steps, StepText(self._read(seen), response.feedback, notes=response.notes)),
            screenshots={**before.screenshots, len(steps) + 1: seen.screenshot_base64},
        )
        terminated = response.answer is not None
        truncated = not terminated and len(steps) >= view.task.steps_within(self._max_steps)
        info: dict[str, Any] = {"notes": response.notes}
        reward = None
        if terminated or truncated:
            final_state = await self._environment.final_state()
            reward = self._world.reward(view.task, response.answer, final_state)
            info |= {"answer": response.answer, "final_state": final_state, "is_judged": reward is not None}
        self._last = Transition(view, reward or 0.0, terminated, truncated, info)
        return self._last

    def _read(self, seen: Observation) -> str:
        return self._space.page_text(seen.tree) if self._space.scale is None else seen.screen_text

    async def close(self) -> None:
        """Give back the environment; a backend that the task changed is put back."""
        if self._environment is None:
            return
        environment, last = self._environment, self._last
        self._environment = self._last = None
        await environment.close()
        if last is not None and (task := last.view.task).changes_backend:
            await self._world.restore(task.backend)


class AsyncEnvironments:
    """Several at once, each with a task of its own. Use as `async with`."""

    def __init__(self, world: World, num_envs: int, max_steps: int, seed: int | None, space: ActionSpace):
        for name, number in (("num_envs", num_envs), ("max_steps", max_steps)):
            if not isinstance(number, Integral) or number < 1:
                raise UserError(f"{name} must be at least 1, not {number}")
        self.world, self.num_envs, self._max_steps, self._seed = world, num_envs, max_steps, seed
        self._space = space
        self.tasks: list[Task] = []
        self._next = 0
        self._episodes: list[Episode] = []
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(self.world.serve())
            folder = stack.enter_context(scratch("elcano-downloads-"))
            try:
                self.tasks = await self.world.tasks()
                await self.world.restore()
                await self.world.snapshot()
                self.world.check(self.tasks)
                opener = await stack.enter_async_context(self.world.environments(self.tasks, self.num_envs))
            except UserError as error:
                raise UserError(_as_arguments(str(error), self.world)) from None
            self._episodes = [
                Episode(self.world, opener, number, folder, self._max_steps, self._space)
                for number in range(self.num_envs)
            ]
            for episode in self._episodes:
                stack.push_async_callback(episode.close)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._episodes = []
        await self._stack.aclose()

    @property
    def episodes(self) -> Sequence[Episode]:
        """Its environments, for callers that step each by itself; none once they are closed."""
        return tuple(self._episodes)

    async def reset(self, tasks: Iterable[Task | str | int] | None = None, seed: int | None = None) -> list[View]:
        """Begin a task in each: these, by id or as they are, or the next ones of the world in order."""
        self._check_open()
        for episode in self._episodes:
            episode.refuse_steps()
        chosen = [self.find(task) for task in tasks] if tasks is not None else self._following()
        seed = self._seed if seed is None else seed
        pairs = self._paired(chosen, "tasks")
        return await asyncio.gather(*(episode.reset(task, seed) for episode, task in pairs))

    async def step(self, replies: Sequence[str]) -> list[Transition]:
        """Carry out one reply in each; those that have ended stay as they are."""
        self._check_open()
        pairs = self._paired(replies, "replies")
        for reply in replies:
            if not isinstance(reply, str):
                raise UserError(f"a reply is a text such as 'Thought: ... Action: Click [4]', not {reply!r}")
        return await asyncio.gather(*(episode.step(reply) for episode, reply in pairs))

    def _check_open(self) -> None:
        if not self._episodes:
            raise UserError("these environments are not open, or closed again; make others")

    def _paired(self, given: Sequence[Given], what: str) -> list[tuple[Episode, Given]]:
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise UserError(f"{given!r} is no list of {what}, one for each of {self.num_envs} environments")
        if len(given) != self.num_envs:
            raise UserError(f"{len(given)} {what} for {self.num_envs} environments; each takes one")
        return list(zip(self._episodes, given, strict=True))

    def find(self, task: Task | str | int) -> Task:
        """The task of this id, which may be a number: WebArena's are.

        Raises:
            UserError: there is none.
        """
        if isinstance(task, Task):
            return task
        name = str(int(task)) if isinstance(task, Integral) and not isinstance(task, bool) else task
        for known in self.tasks:
            if known.id == name:
                return known
        raise UserError(f"there is no task {task!r}; the first of {len(self.tasks)} is {self.tasks[0].id!r}")

    def _following(self) -> list[Task]:
        numbers = range(self._next, self._next + self.num_envs)
        self._next += self.num_envs
        return [self.tasks[number % len(self.tasks)] for number in numbers]


def _as_arguments(message: str, world: World) -> str:
    """A message with the world's settings as programs give them, not as flags."""
    for setting in fields(world):
        message = re.sub(rf"--{setting.name}\b", f"{setting.name}=", message)
        value = getattr(world, setting.name)
        for inner in fields(value) if is_dataclass(value) else ():
            message = re.sub(rf"--{inner.name}\b", f"{setting.name}={type(value).__name__}({inner.name}=...)", message)
    return message


class _Blocking:
    """What callers that block have in common, notebooks among them. Use as `with`, or close it."""

    def __init__(self, inner: AsyncEnvironments):
        self._inner = inner
        run_in_background(inner.__aenter__())

    @property
    def tasks(self) -> list[Task]:
        """The world's tasks."""
        return self._inner.tasks

    def close(self) -> None:
        """End the environments and what serves them."""
        run_in_background(self._inner.__aexit__())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OneEnvironment(_Blocking):
    """One environment, blocking."""

    def reset(self, task: Task | str | int | None = None, seed: int | None = None) -> View:
        """Begin this task, by its id or as it is, or the world's next one."""
        return run_in_background(self._inner.reset(None if task is None else [task], seed))[0]

    def step(self, reply: str) -> Transition:
        """Carry out the reply."""
        return run_in_background(self._inner.step([reply]))[0]


class ManyEnvironments(_Blocking):
    """Several at once, blocking."""

    def reset(self, tasks: Iterable[Task | str | int] | None = None, seed: int | None = None) -> list[View]:
        """See `AsyncEnvironments.reset`."""
        return run_in_background(self._inner.reset(tasks, seed))

    def step(self, replies: Sequence[str]) -> list[Transition]:
        """See `AsyncEnvironments.step`."""
        return run_in_background(self._inner.step(replies))
