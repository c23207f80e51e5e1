"""Service: from a request's messages to its completion. What both protocols share."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import fastapi

from server.engine import Completion, Engine
from server.prompt import Prompt
from server.sampling import SamplingParams


class ClientGoneError(Exception):
    """The client hung up before its reply was ready."""


class Service:
    """Builds prompts in a thread pool, awaits replies, forgets clients that hang up."""

    def __init__(self, engine: Engine, defaults: SamplingParams, model_name: str):
        self.engine, self.defaults, self.model_name = engine, defaults, model_name
        self._pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="prompt")

    async def submit(
        self, build: Callable[[], Prompt], params: SamplingParams, on_token: Callable[[int], None] | None = None
    ) -> asyncio.Future[Completion]:
        """Build the prompt and queue it; cancelling the returned future frees its slot."""
        self.engine.check_room()  # before any work is done for a request that has no place
        prompt = await asyncio.get_running_loop().run_in_executor(self._pool, build)
        return asyncio.wrap_future(self.engine.submit(prompt, params, on_token))

    async def complete(
        self, request: fastapi.Request, build: Callable[[], Prompt], params: SamplingParams
    ) -> Completion:
        """The whole reply; raises `ClientGoneError` as soon as the client hangs up."""
        future = await self.submit(build, params)
        gone = asyncio.ensure_future(_hung_up(request))
        try:
            await asyncio.wait({future, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                raise ClientGoneError
            return future.result()
        finally:
            future.cancel()
            gone.cancel()


async def _hung_up(request: fastapi.Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
