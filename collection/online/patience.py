"""A policy that waits for its server: one that is killed, moved or started again ends no rollout."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from collection.agent.policy import Completion, Policy, ServerSilentError, UnansweredError
from data.conversation import StepText
from data.task import Task

_POLL_S = 1.0


class PatientPolicy:
    """Asks again when the server answers. What it refuses it would refuse again: that is raised as ever."""

    def __init__(self, inner: Policy, say: Callable[[str], None]):
        self._inner, self._say, self._is_silent = inner, say, False
        self.name, self.system_prompt = inner.name, inner.system_prompt

    async def check(self) -> None:
        """Wait for a server that is not there yet; UserError where it refuses the key."""
        try:
            await self._inner.check()
        except ServerSilentError as error:
            await self._until_it_answers(str(error))

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        while True:
            try:
                return await self._inner.reply(task, folder, steps, screenshots, seed)
            except (UnansweredError, ServerSilentError) as error:
                await self._until_it_answers(str(error))

    async def close(self) -> None:
        await self._inner.close()

    async def _until_it_answers(self, why: str) -> None:
        if not self._is_silent:
            self._say(f"the model server at {self._inner.name} does not answer ({why}); the pool waits for it")
        self._is_silent = True
        while True:
            await asyncio.sleep(_POLL_S)
            try:
                await self._inner.check()
            except ServerSilentError:
                continue
            if self._is_silent:
                self._say("the model server answers again")
            self._is_silent = False
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
