"""Engine: one thread that runs every request's generation in one continuously changing batch.

Each step of the model gives every decoding sequence a token, or several where its draft is right, and reads a chunk of
the prompts that wait, so a long prompt never holds up replies under way and a reply that ends leaves at once. What is
known already (the prefix of an earlier step, the features of a screenshot) is not computed again.

A step computes first, and changes what is known of its sequences only when it has: one that runs out of memory can be
taken again. Then what may be made again is freed and the step is tried once more; should that fail too, the newest
request is given up and the others go on.
"""

import dataclasses
import logging
import threading
import time
from collections.abc import Callable

import torch

from common.errors import UserError
from server.config import EngineFlags
from server.engine.memory.engine_memory import EngineMemory
from server.engine.memory.feature_cache import FeatureCache
from server.engine.memory.memory_budget import MemoryBudget
from server.engine.memory.release import is_out_of_memory, return_cached_memory
from server.engine.model.prompt import Prompt, check_length
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model_step import ModelStep
from server.engine.replies import Replies, refuse
from server.engine.sampling import SamplingParams
from server.engine.scheduler import Scheduler
from server.engine.sequence import (
    DeadlineError,
    EngineBusyError,
    EngineDeadError,
    MemoryFullError,
    Options,
    PendingReply,
    Sequence,
)
from server.engine.speculative_decoding import Drafter
from server.engine.stats import EngineStats

log = logging.getLogger("elcano.server")

_GREEDY, _NO_OPTIONS = SamplingParams(temperature=0), Options()
_PAUSE_S = 0.05  # between looks for memory that another engine holds


@dataclasses.dataclass(frozen=True)
class EngineConfig(EngineFlags):
    """With the memory for keys, values and image features."""

    kv_cache_bytes: int = 2 * 2**30


class Engine:
    """Owns the model's thread. `submit` from anywhere; a failing request fails alone.

    Args:
        budget: what engines share while weights change; None: `kv_cache_bytes` of its own.
    """

    def __init__(self, model: VisionLanguageModel, config: EngineConfig, budget: MemoryBudget | None = None):
        self.model, self.config = model, config
        slots, budget = model.new_slots(), budget or MemoryBudget(config.kv_cache_bytes)
        self.memory = EngineMemory(slots, budget, model.feature_bytes_per_token)
        self.stats = EngineStats()
        self._drafter = Drafter(config.max_draft_tokens)
        self._scheduler = Scheduler(self.memory, config.max_batch_size, config.prefill_chunk)
        self._model_step = ModelStep(model, self.memory, self._scheduler, self._drafter, self.stats)
        self._replies = Replies(model, self._scheduler, self._drafter, self.stats, self._fail)
        self._turn_began: float | None = None
        self._trim = threading.Event()
        self._changed = threading.Condition()
        self._stopping = self._ended = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def cache(self) -> FeatureCache:
        """Features of images seen before."""
        return self.memory.features

    @property
    def num_waiting(self) -> int:
        return len(self._scheduler.waiting)

    @property
    def num_running(self) -> int:
        return sum(not sequence.options.prefetch for sequence in self._scheduler.active)

    @property
    def idle(self) -> bool:
        """Whether nothing waits or runs, nor is read ahead."""
        return not (self._scheduler.queued or self._scheduler.active)

    @property
    def adapters_in_use(self) -> set[str]:
        """Those that what waits or runs is read by."""
        queued = (*self._scheduler.active, *self._scheduler.waiting, *self._scheduler.prefetch)
        return {sequence.prompt.adapter for sequence in queued}

    @property
    def kv_bytes(self) -> int:
        """Memory of the slots and of the prefix store."""
        return self.memory.slots.held_bytes + self.memory.store.nbytes

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def step_s(self) -> float:
        """How long the step under way has taken so far."""
        began = self._turn_began
        return 0.0 if began is None else time.monotonic() - began

    def submit(self, prompt: Prompt, params: SamplingParams, options: Options = _NO_OPTIONS) -> PendingReply:
        """Queue a request. Cancelling the future frees its slot.

        Raises:
            UserError: a sampling parameter is out of range, or the prompt can never be served.
            EngineBusyError: too many requests wait, or the engine is stopping.
            EngineDeadError: its thread has ended.
        """
        sequence = self._sequence(prompt, params, options)
        sequence.future.weights_version = self.model.version_of(prompt.adapter)
        with self._changed:
            self.check_room()
            self._forget_prefetch(options.session)
            self._scheduler.waiting.append(sequence)
            self._changed.notify()
        return sequence.future

    def read_ahead(self, prompt: Prompt, session: str) -> None:
        """Read, when there is time, the beginning that the session's next prompt is expected to have."""
        sequence = self._sequence(prompt, _GREEDY, Options(session=session, prefetch=True))
        with self._changed:
            if not self._stopping and len(self._scheduler.prefetch) < self.config.max_queue:
                self._forget_prefetch(session)
                self._scheduler.prefetch.append(sequence)
                self._changed.notify()

    def check_room(self) -> None:
        """Raises `EngineBusyError` or `EngineDeadError` when a request would be refused now."""
        if self._ended and not self._stopping:
            raise EngineDeadError("the engine has stopped running; the server must be started again")
        if self._stopping:
            raise EngineBusyError("the server is shutting down")
        if len(self._scheduler.waiting) >= self.config.max_queue:
            raise EngineBusyError(f"{self.config.max_queue} requests are waiting already; try again later")

    def trim(self, timeout_s: float) -> None:
        """Have what may be made again come down to a budget that has become smaller; an engine that is stuck is not
        waited for."""
        self._trim.set()
        with self._changed:
            self._changed.notify()
            self._changed.wait_for(lambda: not (self._trim.is_set() and self.alive), timeout_s)

    def stop(self, timeout_s: float | None = None) -> None:
        """Finish what was accepted, then end the thread, which gives back all memory but the model's."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _sequence(self, prompt: Prompt, params: SamplingParams, options: Options) -> Sequence:
        prompt.check()
        self.model.adapters.check(prompt.adapter)
        length, draws = len(prompt.token_ids), not (options.num_scored or options.prefetch)
        check_length(length, self.model, room=int(draws))
        sequence = Sequence(prompt, params, options)
        if draws:
            sequence.max_new_tokens = min(params.max_new_tokens, self.model.context_length - length)
        if not self._scheduler.fits_alone(sequence):
            raise UserError(f"{sequence.max_length} tokens need more memory than --kv_cache_gib gives")
        return sequence

    def _forget_prefetch(self, session: str | None) -> None:
        """What waits to be read ahead for a session is old; the engine's thread takes it out."""
        for one in list(self._scheduler.prefetch):
            if one.options.session == session:
                one.future.cancel()

    @torch.inference_mode()
    def _run(self) -> None:
        try:
            while self._wait_for_work():
                self._turn()
        except BaseException as error:  # what `_turn` lets through ends the interpreter, or all there is to do here
            log.critical("the engine has stopped", exc_info=error)
        finally:
            self._end()

    def _wait_for_work(self) -> bool:
        with self._changed:
            while self.idle and not self._trim.is_set():
                if self._stopping:
                    return False
                self._changed.wait()
            if self._stopping:
                self._scheduler.prefetch.clear()
        return True

    def _turn(self) -> None:
        """Once around: drop, admit, step. Whatever goes wrong, the thread goes on."""
        self._turn_began = time.monotonic()
        try:
            self._trim_memory()
            self._drop_dead()
            error = self._admit()
            if self._scheduler.active:
                self._step()
            elif self._scheduler.has_refused and error is None:
                self._wait_for_memory()
        except Exception as error:  # nothing that was foreseen: the slots cannot be trusted
            failing = self._scheduler.active
            if not failing and self._scheduler.queued:
                failing = [self._scheduler.pop_next()]
            self._scheduler.clear()
            for sequence in failing:
                self._fail(sequence, error)
        finally:
            self._turn_began = None

    def _admit(self) -> Exception | None:
        """Give rows to what waits. The request at which that fails is given up, and no other; returns the error."""
        try:
            error: Exception | None = self._with_memory(self._scheduler.admit)
        except Exception as failure:
            error = failure
        if error is not None and self._scheduler.admitting is not None:
            self._fail(self._scheduler.take_admitting(), error)
        return error

    def _end(self) -> None:
        """The thread ends: nobody waits for it any longer, and nothing is held."""
        with self._changed:
            self._ended = True
            left = [*self._scheduler.active, *self._scheduler.waiting]
            self._scheduler.waiting.clear()
            self._scheduler.clear()
        for sequence in left:
            self._fail(sequence, EngineDeadError("the engine has stopped running"))
        self.memory.free()
        self.memory.budget.release(self.memory)

    def _trim_memory(self) -> None:
        if self._trim.is_set():
            self.memory.trim()
            return_cached_memory()
            with self._changed:
                self._trim.clear()
                self._changed.notify_all()

    def _wait_for_memory(self) -> None:
        """Nothing runs, and what waits does not fit: another engine holds memory, or weights are being loaded."""
        budget = self.memory.budget
        if budget.held_by_others(self.memory) or budget.total_bytes < budget.usual_bytes:
            time.sleep(_PAUSE_S)
        elif self._scheduler.waiting:
            self._fail(self._scheduler.pop_next(), MemoryFullError("there is no memory for a request of this size now"))
        else:
            self._scheduler.prefetch.clear()

    def _drop_dead(self) -> None:
        """Free what its client has given up or what has run out of time."""
        for queue in (self._scheduler.waiting, self._scheduler.prefetch):
            for sequence in [one for one in list(queue) if one.future.cancelled() or one.expired]:
                with self._changed:
                    queue.remove(sequence)
                self._expire(sequence)
        for sequence in [one for one in self._scheduler.active if one.future.cancelled() or one.expired]:
            self._scheduler.stop(sequence, keep=False)
            self._expire(sequence)

    def _expire(self, sequence: Sequence) -> None:
        if sequence.expired:
            self._fail(sequence, DeadlineError(f"not answered within {sequence.options.deadline_s:g} s"))
        if not sequence.options.prefetch:
            self.stats.dropped += 1

    def _step(self) -> None:
        """At least one more token for every decoding sequence, one more chunk of the prompts."""
        error = self._with_memory(self._step_once)
        if error is None or not self._scheduler.active:
            return
        last = self._model_step.encoding or max(self._scheduler.active, key=lambda one: (one.admitted, one.max_length))
        self._scheduler.stop(last, keep=False)
        self._fail(last, error)
        self._with_memory(self._scheduler.compact)

    def _with_memory(self, work: Callable[[], object]) -> MemoryFullError | None:
        """Do `work`, which changes nothing when memory runs out; then once more, after everything was freed that may be
        made again. Returns the error of that second time."""
        for _ in range(2):
            try:
                work()
                return None
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                text = str(error).partition("\n")[0]
            # outside of the handler: while it lasts, its traceback holds what the step has allocated
            self.stats.out_of_memory += 1
            log.warning("out of memory: %s", text)
            self._scheduler.drop_prefetch()
            self.memory.free()
            return_cached_memory()
        return MemoryFullError("the server has no memory left for this request; try again later")

    def _step_once(self) -> None:
        """Compute, which may fail and changes nothing that counts; then hand out, which allocates nothing."""
        if self._scheduler.active:  # else it was reading ahead alone, which a lack of memory has ended
            try:
                step = self._model_step.compute()
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                log.warning("a step failed; its requests are computed one by one", exc_info=error)
            else:
                return self._replies.hand_out(step)
            for sequence in list(self._scheduler.active):
                self._step_alone(sequence)

    def _step_alone(self, sequence: Sequence) -> None:
        """After a step that failed: whose request it was that cannot be computed gets the error, and no other."""
        try:
            step = self._model_step.compute(alone=sequence)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            self._scheduler.stop(sequence, keep=False)
            self._fail(sequence, error)
        else:
            self._replies.hand_out(step)

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        refuse(sequence, error)
