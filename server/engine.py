"""Engine: one thread that runs every request's generation in one continuously changing batch.

A request joins at its prefill, takes a slot in the batched key-value cache, and leaves at its end token, so a long
reply never holds up a short one. Prefills come first: a full batch makes every decode step cheaper per token.
"""

import collections
import concurrent.futures
import dataclasses
import logging
import threading
from collections.abc import Callable

import torch

from data.errors import UserError
from server.feature_cache import FeatureCache
from server.kv_slots import KVSlots
from server.prompt import ImageInput, Prompt
from server.sampling import SamplingParams, sample
from server.vision_language_model import VisionLanguageModel, fill_image_tokens

log = logging.getLogger("elcano.server")


class EngineBusyError(Exception):
    """The queue is full, or the engine is shutting down."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """A reply. `token_ids` end with the end token unless `finish_reason` is "length"; `logprobs` belong to them and are
    the model's own, before temperature, top-k and top-p."""

    prompt_tokens: int
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: str


@dataclasses.dataclass
class _Sequence:
    """A request on its way: first in the queue, then in a slot."""

    prompt: Prompt
    params: SamplingParams
    on_token: Callable[[int], None] | None
    generator: torch.Generator
    future: concurrent.futures.Future[Completion]
    prompt_tokens: int = 0
    max_new_tokens: int = 0
    token_ids: list[int] = dataclasses.field(default_factory=list)
    logprobs: list[float] = dataclasses.field(default_factory=list)


class Engine:
    """Owns the model's thread. `submit` from anywhere; a failing request fails alone."""

    def __init__(self, model: VisionLanguageModel, cache: FeatureCache, max_batch_size: int, max_queue: int):
        self.model, self.cache = model, cache
        self.max_batch_size, self.max_queue = max_batch_size, max_queue
        self.num_finished = 0
        self._waiting: collections.deque[_Sequence] = collections.deque()
        self._running: list[_Sequence] = []  # row i of the slots belongs to _running[i]
        self._slots = KVSlots(max_batch_size)
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(
        self, prompt: Prompt, params: SamplingParams, on_token: Callable[[int], None] | None = None
    ) -> concurrent.futures.Future[Completion]:
        """Queue a request; `on_token` is called from the engine's thread. Cancelling the future frees its slot.

        Raises:
            UserError: a sampling parameter is out of range.
            EngineBusyError: too many requests wait, or the engine is stopping.
        """
        params.check()
        sequence = _Sequence(prompt, params, on_token, params.generator(), concurrent.futures.Future())
        with self._changed:
            self.check_room()
            self._waiting.append(sequence)
            self._changed.notify()
        return sequence.future

    def check_room(self) -> None:
        """Raises `EngineBusyError` when a request would be refused now."""
        if self._stopping:
            raise EngineBusyError("the server is shutting down")
        if len(self._waiting) >= self.max_queue:
            raise EngineBusyError(f"{self.max_queue} requests are waiting already; try again later")

    def stop(self) -> None:
        """Finish what was accepted, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    @torch.inference_mode()
    def _run(self) -> None:
        while self._wait_for_work():
            self._admit()
            self._drop_cancelled()
            if self._running:
                self._step()

    def _wait_for_work(self) -> bool:
        with self._changed:
            while not (self._waiting or self._running):
                if self._stopping:
                    return False
                self._changed.wait()
        return True

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self.max_batch_size:
            sequence = self._waiting.popleft()
            if sequence.future.cancelled():
                continue
            try:
                self._start(sequence)
            except Exception as error:
                self._fail(sequence, error)

    def _start(self, sequence: _Sequence) -> None:
        """Encode the images that are new, prefill, draw the first token."""
        features = [self._features(image) for image in sequence.prompt.images]
        prompt_ids = fill_image_tokens(
            sequence.prompt.token_ids, self.model.image_token_id, [feature.shape[0] for feature in features]
        )
        room = self.model.context_length - len(prompt_ids)
        if room < 1:
            raise UserError(f"the prompt has {len(prompt_ids)} tokens; the model reads {self.model.context_length}")
        sequence.prompt_tokens = len(prompt_ids)
        sequence.max_new_tokens = min(sequence.params.max_new_tokens, room)
        logits, cache = self.model.prefill(prompt_ids, features)
        if not self._append([sequence], logits):
            self._slots.add(cache)
            self._running.append(sequence)

    def _features(self, image: ImageInput) -> torch.Tensor:
        features = image.features if image.features is not None else self.cache.get(image.key)
        if features is None:
            features = self.model.encode_image(image.pixels)
            self.cache.put(image.key, features)
        return features

    def _drop_cancelled(self) -> None:
        for row in reversed(range(len(self._running))):
            if self._running[row].future.cancelled():
                self._free(row)

    def _step(self) -> None:
        """One more token for every running sequence."""
        try:
            logits = self.model.decode([sequence.token_ids[-1] for sequence in self._running], self._slots)
            for row in reversed(self._append(self._running, logits)):
                self._free(row)
        except Exception as error:
            for sequence in self._running:
                self._fail(sequence, error)
            self._running.clear()
            self._slots.clear()

    def _append(self, sequences: list[_Sequence], logits: torch.Tensor) -> list[int]:
        """Draw a token for each row of `logits`; returns the rows that ended, in rising order."""
        for row, sequence in enumerate(sequences):
            if len(sequence.token_ids) < sequence.params.min_new_tokens:
                logits[row, self.model.eos_ids] = -torch.inf
        tokens, logprobs = sample(
            logits, [sequence.params for sequence in sequences], [sequence.generator for sequence in sequences]
        )
        ended = []
        for row, (sequence, token, logprob) in enumerate(zip(sequences, tokens, logprobs, strict=True)):
            sequence.token_ids.append(token)
            sequence.logprobs.append(logprob)
            if sequence.on_token is not None:
                sequence.on_token(token)
            if token in self.model.eos_ids or len(sequence.token_ids) == sequence.max_new_tokens:
                self._finish(sequence)
                ended.append(row)
        return ended

    def _finish(self, sequence: _Sequence) -> None:
        reason = "stop" if sequence.token_ids[-1] in self.model.eos_ids else "length"
        if sequence.future.set_running_or_notify_cancel():
            completion = Completion(sequence.prompt_tokens, sequence.token_ids, sequence.logprobs, reason)
            sequence.future.set_result(completion)
            self.num_finished += 1

    def _fail(self, sequence: _Sequence, error: Exception) -> None:
        if not isinstance(error, UserError):
            log.error("a request failed", exc_info=error)
        if not sequence.future.done() and sequence.future.set_running_or_notify_cancel():
            sequence.future.set_exception(error)

    def _free(self, row: int) -> None:
        """Give the slot back; the last sequence moves into its row, as it does in the slots."""
        self._slots.remove(row)
        last = self._running.pop()
        if row < len(self._running):
            self._running[row] = last
