"""A world that is opened once and whose environments are lent: each session of a server has one to itself.

For adapters to libraries whose sessions come and go while the world stays (environments/openenv_adapter.py).
"""

import itertools
import random
from collections.abc import Sequence
from threading import Lock
from typing import Any, Self

from common.background import await_in_background, run_in_background
from common.errors import UserError
from data.task import Task
from environments import make_async
from environments.stepping import Episode, Transition, View


class Sessions:
    """At most `num_sessions` at the same time. Use as `with`; sessions may be opened in any thread.

    The other arguments are those of `environments.make`.
    """

    def __init__(self, world: str, num_sessions: int, **settings: Any):
        self._inner = make_async(world, num_envs=num_sessions, **settings)
        self._lock = Lock()
        self._free: list[Episode] = []
        self._count = itertools.count()

    def __enter__(self) -> Self:
        run_in_background(self._inner.__aenter__())
        self._free = list(self._inner.episodes)
        return self

    def __exit__(self, *_: object) -> None:
        run_in_background(self._inner.__aexit__())

    @property
    def tasks(self) -> Sequence[Task]:
        """The world's."""
        return self._inner.tasks

    def open(self) -> "Session":
        """A session with an environment of its own.

        Raises:
            UserError: as many as may be are open.
        """
        with self._lock:
            if not self._free:
                raise UserError(f"all {self._inner.num_envs} environments are taken; close a session, or allow more")
            return Session(self, self._free.pop())

    def choose(self, task: str | int | None, seed: int | None) -> Task:
        """The task of this id, one that the seed draws, or the world's next one."""
        if task is not None:
            return self._inner.find(task)
        number = next(self._count) if seed is None else random.Random(seed).randrange(len(self.tasks))
        return self.tasks[number % len(self.tasks)]

    def take_back(self, episode: Episode) -> None:
        """Another session may have it."""
        with self._lock:
            self._free.append(episode)


class Session:
    """Steps through tasks, one after another."""

    def __init__(self, sessions: Sessions, episode: Episode):
        self._sessions = sessions
        self._episode: Episode | None = episode

    async def reset(self, task: str | int | None = None, seed: int | None = None) -> View:
        """Begin a task, see `Sessions.choose`."""
        self._given.refuse_steps()
        return await await_in_background(self._given.reset(self._sessions.choose(task, seed), seed))

    async def step(self, reply: str) -> Transition:
        """Carry out the reply. A reward is paid once: who adds up rewards and steps on after the end gets 0 then."""
        was_over = self._given.is_over
        transition = await await_in_background(self._given.step(reply))
        return transition._replace(reward=0.0) if was_over else transition

    def close(self) -> None:
        """End its episode, and give the environment back."""
        episode, self._episode = self._episode, None
        if episode is not None:
            try:
                run_in_background(episode.close())
            finally:
                self._sessions.take_back(episode)

    @property
    def _given(self) -> Episode:
        if self._episode is None:
            raise UserError("this session is closed; open another")
        return self._episode
