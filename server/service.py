"""Service: from a request's messages to its replies. What all protocols share."""

import asyncio
import dataclasses
import functools
import gc
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fastapi

from common.seeds import derive_seed
from models.checkpoint.adapter_config import is_adapter
from server.deadline import Deadline
from server.engine.engine import Engine
from server.engine.memory.memory_budget import MemoryBudget
from server.engine.memory.release import is_out_of_memory, return_cached_memory
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.wire_images import WireImage
from server.engine.prompt_prefetch import NextPrompt
from server.engine.reply_form.grammar import Constraint
from server.engine.reply_form.request_error import UnknownModelError
from server.engine.sampling import DrawnToken, SamplingParams
from server.engine.sequence import Completion, EngineBusyError, MemoryFullError, Options, PendingReply
from server.engine.stats import EngineStats
from server.streaming import unless_gone

OnToken = Callable[[int, DrawnToken], None]
"""Gets the reply's number and each token as it is drawn, in the engine's thread."""

log = logging.getLogger("elcano.server")

_TRIM_S = 30.0
_DRAIN_S = 60.0  # beyond what a request may take


class ReloadingError(Exception):
    """Another reload is under way."""


@dataclasses.dataclass(frozen=True)
class GenerationRequest:
    """What a request wants: how its prompt is built, and how its `num_replies` are drawn."""

    build: Callable[[Engine], Prompt]
    params: SamplingParams
    num_replies: int = 1
    stop: Sequence[str] = ()
    session: str | None = None
    timeout_s: float | None = None
    num_top: int = 0
    constraint: Callable[[Engine], Constraint] | None = None
    """Compiles the grammar that the replies keep to."""


class Started:
    """Completions under way on one engine, whose weights they all have."""

    def __init__(
        self,
        engine: Engine,
        futures: Sequence[PendingReply],
        stop: Sequence[str],
        deadline: Deadline,
    ):
        self.engine, self._stop, self._deadline = engine, stop, deadline
        self.futures = [asyncio.wrap_future(future) for future in futures]
        self.weights_version = futures[0].weights_version if futures else ""

    async def completions(self) -> list[Completion]:
        """All of them; the first error is raised. Raises `DeadlineError` by itself when the engine does not."""
        async with self._deadline.kept(self.engine):
            return await asyncio.gather(*self.futures)

    def said(self, token_ids: Sequence[int]) -> str:
        """What these tokens say up to a stop string, which white space may belong to."""
        said = self.engine.model.decode_text(token_ids)
        return said[: min((said.index(stop) for stop in self._stop if stop in said), default=len(said))]

    def text(self, token_ids: Sequence[int]) -> str:
        """The text of a reply."""
        return self.said(token_ids).strip()

    def cancel(self) -> None:
        """Free their slots."""
        for future in self.futures:
            future.cancel()


class Service:
    """Builds prompts in a thread pool, awaits replies, forgets clients that hang up, changes weights under way."""

    def __init__(
        self,
        engine: Engine,
        defaults: SamplingParams,
        model_name: str,
        load: Callable[[Path, MemoryBudget], Engine] | None = None,
        timeout_s: float | None = None,
        read_ahead: bool = True,
        alias: str = "",
    ):
        self.engine, self.defaults, self.model_name = engine, defaults, model_name
        self.alias, self.loaded_at = alias or model_name, int(time.time())
        self.timeout_s, self.read_ahead = timeout_s, read_ahead
        self.retired = EngineStats()  # what engines of earlier weights have counted
        self._load = load
        self._reloading = threading.Lock()
        self._drain: threading.Thread | None = None
        self._next_prompt = NextPrompt()
        self._pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="prompt")
        self._grammar_pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="grammar")

    @property
    def model_names(self) -> list[str]:
        """What the model is called: by its folder, by the name that outlives a reload, and the adapters."""
        return list(dict.fromkeys([self.model_name, self.alias, *sorted(self.engine.model.adapters.names)]))

    def check_model(self, name: str) -> None:
        """Raises `UnknownModelError` for a name that is none of them; "" is whatever is served."""
        if name and name not in self.model_names:
            raise UnknownModelError(name, self.model_names)

    async def start(self, wanted: GenerationRequest, on_token: OnToken | None = None) -> Started:
        """Build the prompt and queue it.

        Raises:
            UserError: something about the request is wrong.
            EngineBusyError: too many requests wait already.
        """
        timeout_s = self.allowed_s(wanted.timeout_s)
        if wanted.constraint is not None:
            await self._compile(wanted.constraint, timeout_s)
        return await self.begin(lambda engine: _submit(engine, wanted, timeout_s, on_token), timeout_s, wanted.stop)

    async def _compile(self, constraint: Callable[[Engine], Constraint], timeout_s: float | None) -> None:
        """In threads of its own, so that nobody else's prompt waits for a large grammar; `_submit` finds it ready."""
        engine = self.engine
        engine.check_room()
        async with Deadline(timeout_s).kept(engine):
            await asyncio.get_running_loop().run_in_executor(self._grammar_pool, constraint, engine)

    async def begin(
        self,
        submit: Callable[[Engine], Sequence[PendingReply]],
        timeout_s: float | None,
        stop: Sequence[str] = (),
    ) -> Started:
        """Run `submit` in the pool, on an engine that takes requests."""
        deadline = Deadline(timeout_s)
        while True:
            engine = self.engine
            engine.check_room()  # before any work is done for a request that has no place
            try:
                async with deadline.kept(engine):
                    futures = await asyncio.get_running_loop().run_in_executor(self._pool, submit, engine)
            except EngineBusyError:
                if engine is self.engine:
                    raise  # else its weights were replaced meanwhile
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                raise MemoryFullError("the server has no memory to read this request; try again later") from None
            else:
                return Started(engine, futures, stop, deadline)

    def allowed_s(self, timeout_s: float | None) -> float | None:
        """How long a request may take that asks for `timeout_s`: never longer than the server's own limit."""
        return min((limit for limit in (timeout_s, self.timeout_s) if limit is not None), default=None)

    @property
    def is_stuck(self) -> bool:
        """Whether the step under way takes longer than a request may: no request can be answered in its time."""
        return self.timeout_s is not None and self.engine.step_s > self.timeout_s

    async def until_gone(self, request: fastapi.Request, started: Started) -> list[Completion]:
        """The whole completions; raises `ClientGoneError` as soon as the client hangs up."""
        try:
            return await unless_gone(request, started.completions())
        finally:
            started.cancel()

    def expect_next(
        self,
        engine: Engine,
        session: str,
        turns: Sequence[tuple[str, str]],
        images: Sequence[WireImage],
        reply: str,
        adapter: str,
    ) -> None:
        """Read ahead what the session's next request will begin with; returns at once."""

        def read_ahead() -> None:
            try:
                expected = self._next_prompt.expect(turns, reply)
                if expected is not None:
                    messages, shown = expected
                    prompt = build_prompt(messages, [images[i] for i in shown], engine.model, engine.cache, adapter)
                    engine.read_ahead(prompt, session)
            except Exception as error:  # nobody waits for it
                log.debug("nothing was read ahead", exc_info=error)

        if self.read_ahead:
            self._pool.submit(read_ahead)

    async def reload(self, folder: Path) -> str:
        """Serve the checkpoint in `folder` from now on; requests under way finish on the weights they began with. Of an
        adapter's folder, the adapter, on the model that is served.

        Returns the new weights version.

        Raises:
            UserError: the checkpoint does not load; the old one is served on.
            MemoryFullError: there is no memory for it beside the old one, which is served on.
            ReloadingError: another reload is under way.
        """
        if not self._reloading.acquire(blocking=False):
            raise ReloadingError("another reload is under way; try again later")
        try:
            if is_adapter(folder):
                return await asyncio.to_thread(self._adopt, folder)
            old, new = self.engine, await asyncio.to_thread(self._load_beside, self.engine, folder)
            self.engine, self.model_name, self.loaded_at = new, folder.resolve().name, int(time.time())
        finally:
            self._reloading.release()
        self._drain = threading.Thread(target=self._retire, args=([old],), name="drain", daemon=True)
        self._drain.start()
        return new.model.weights_version

    def _adopt(self, folder: Path) -> str:
        engine = self.engine
        engine.model.adopt(folder, engine.adapters_in_use)
        self.model_name, self.loaded_at = folder.resolve().name, int(time.time())
        return engine.model.weights_version

    def _load_beside(self, old: Engine, folder: Path) -> Engine:
        """An engine for new weights; until the old one has drained, both share the memory that the weights leave."""
        budget = old.memory.budget
        budget.lower(_bytes_of_weights(folder))
        old.trim(_TRIM_S)
        try:
            assert self._load is not None
            new = self._load(folder, budget)
        except Exception as error:
            _forget_locals(error)  # which hold a model that was loaded in part
            _measure(budget, single=self._drain is None or not self._drain.is_alive())
            if not is_out_of_memory(error):
                raise
            raise MemoryFullError("there is no memory for these weights beside the old ones, served on") from None
        _measure(budget, single=False)
        return new

    def _retire(self, engines: list[Engine]) -> None:
        """Stop the engine in the list, and take it out, so that nothing holds its memory any longer."""
        budget = engines[0].memory.budget
        engines[0].stop(None if self.timeout_s is None else self.timeout_s + _DRAIN_S)
        if engines[0].alive:
            log.error("an engine hangs with its old weights; the new ones go on with the memory that it leaves")
            budget.settle(lost=engines[0].memory)
            engines[0].stop()
        self.retired.add(engines.pop().stats)
        _measure(budget, single=True)


def _measure(budget: MemoryBudget, single: bool) -> None:
    """After weights have come or gone; `single` when one model alone is left."""
    gc.collect()  # models are full of reference cycles, which Python would leave lying until it happens to look
    return_cached_memory()
    if single:
        budget.settle()
    else:
        budget.measure()


def _forget_locals(error: BaseException | None) -> None:
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _bytes_of_weights(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    except (OSError, ValueError):
        return 0  # whatever is wrong with the folder, loading it says so


def _submit(
    engine: Engine, wanted: GenerationRequest, timeout_s: float | None, on_token: OnToken | None
) -> list[PendingReply]:
    """Replies that differ in their random numbers; the engine reads their prompt once. The first is what a request for
    one reply gets."""
    prompt = wanted.build(engine)
    constraint = wanted.constraint and wanted.constraint(engine)
    futures: list[PendingReply] = []
    for number in range(wanted.num_replies):
        seed = wanted.params.seed
        if seed is not None and number > 0:
            seed = derive_seed(seed, number)
        options = Options(
            session=wanted.session,
            on_token=functools.partial(on_token, number) if on_token else None,
            stop=functools.partial(_says, engine, wanted.stop) if wanted.stop else None,
            deadline_s=timeout_s,
            num_top=wanted.num_top,
            constraint=constraint and constraint.copy(),
        )
        try:
            futures.append(engine.submit(prompt, dataclasses.replace(wanted.params, seed=seed), options))
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return futures


def _says(engine: Engine, stops: Sequence[str], token_ids: list[int]) -> bool:
    text = engine.model.decode_text(token_ids)
    return any(stop in text for stop in stops)
