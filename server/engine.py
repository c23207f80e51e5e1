"""Engine: one thread that runs every request's generation in one continuously changing batch.

Each step of the model gives every decoding sequence a token, or several where its draft is right, and reads a chunk of
the prompts that wait, so a long prompt never holds up replies under way and a reply that ends leaves at once. What is
known already (the prefix of an earlier step, the features of a screenshot) is not computed again.
"""

import concurrent.futures
import dataclasses
import logging
import threading
from collections.abc import Sequence as Listed

import torch

from data.errors import UserError
from server.batch import Reading, Reply, chunk_features
from server.drafts import Drafter
from server.feature_cache import FeatureCache
from server.prompt import ImageInput, Prompt
from server.ragged_attention import Chunk
from server.sampling import SamplingParams, sample
from server.scheduler import Scheduler
from server.sequence import Completion, DeadlineError, EngineBusyError, Options, Sequence
from server.stats import EngineStats
from server.vision_language_model import VisionLanguageModel

log = logging.getLogger("elcano.server")

_GREEDY, _NO_OPTIONS = SamplingParams(temperature=0), Options()


@dataclasses.dataclass(frozen=True)
class EngineConfig:
    """`max_batch_size` sequences at once, `prefill_chunk` prompt tokens a step (and no more drafted ones), at most
    `max_draft_tokens` of them for a reply, and memory for keys and values."""

    max_batch_size: int = 16
    max_queue: int = 256
    prefill_chunk: int = 256
    max_draft_tokens: int = 8
    kv_cache_bytes: int = 2 * 2**30
    image_cache_size: int = 512


class Engine:
    """Owns the model's thread. `submit` from anywhere; a failing request fails alone."""

    def __init__(self, model: VisionLanguageModel, config: EngineConfig):
        self.model, self.config = model, config
        self.cache = FeatureCache(config.image_cache_size)
        self.stats = EngineStats()
        self._drafter = Drafter(config.max_draft_tokens)
        self._scheduler = Scheduler(
            model.new_slots(), config.max_batch_size, config.prefill_chunk, config.kv_cache_bytes
        )
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        return len(self._scheduler.waiting)

    @property
    def num_running(self) -> int:
        return sum(not sequence.options.speculative for sequence in self._scheduler.active)

    @property
    def idle(self) -> bool:
        """Whether nothing waits or runs, nor is read ahead."""
        return not (self._scheduler.queued or self._scheduler.active)

    @property
    def kv_bytes(self) -> int:
        """Memory of the slots and of the prefix store."""
        slots = self._scheduler.slots
        return slots.nbytes(slots.num_rows, slots.capacity) + self._scheduler.store.nbytes

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(
        self, prompt: Prompt, params: SamplingParams, options: Options = _NO_OPTIONS
    ) -> concurrent.futures.Future[Completion]:
        """Queue a request. Cancelling the future frees its slot.

        Raises:
            UserError: a sampling parameter is out of range, or the prompt can never be served.
            EngineBusyError: too many requests wait, or the engine is stopping.
        """
        sequence = self._sequence(prompt, params, options)
        with self._changed:
            self.check_room()
            self._forget_speculation(options.session)
            self._scheduler.waiting.append(sequence)
            self._changed.notify()
        return sequence.future

    def read_ahead(self, prompt: Prompt, session: str) -> None:
        """Read, when there is time, the beginning that the session's next prompt is expected to have."""
        sequence = self._sequence(prompt, _GREEDY, Options(session=session, speculative=True))
        with self._changed:
            if not self._stopping and len(self._scheduler.speculative) < self.config.max_queue:
                self._forget_speculation(session)
                self._scheduler.speculative.append(sequence)
                self._changed.notify()

    def check_room(self) -> None:
        """Raises `EngineBusyError` when a request would be refused now."""
        if self._stopping:
            raise EngineBusyError("the server is shutting down")
        if len(self._scheduler.waiting) >= self.config.max_queue:
            raise EngineBusyError(f"{self.config.max_queue} requests are waiting already; try again later")

    def stop(self) -> None:
        """Finish what was accepted, then end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _sequence(self, prompt: Prompt, params: SamplingParams, options: Options) -> Sequence:
        params.check()
        prompt.check()
        self.model.adapters.check(prompt.adapter)
        length = len(prompt.token_ids)
        room = self.model.context_length - length + bool(options.num_scored or options.speculative)
        if room < 1:
            raise UserError(f"the prompt has {length} tokens; the model reads {self.model.context_length}")
        sequence = Sequence(prompt, params, options)
        if not (options.num_scored or options.speculative):
            sequence.max_new_tokens = min(params.max_new_tokens, room)
        if not self._scheduler.fits_alone(sequence.max_length):
            raise UserError(f"{sequence.max_length} tokens need more memory than --kv_cache_gib gives")
        return sequence

    def _forget_speculation(self, session: str | None) -> None:
        queue = self._scheduler.speculative
        for one in [one for one in queue if one.options.session == session]:
            queue.remove(one)

    @torch.inference_mode()
    def _run(self) -> None:
        while self._wait_for_work():
            self._drop_dead()
            with self._changed:
                self._scheduler.admit()
            if self._scheduler.active:
                self._step()

    def _wait_for_work(self) -> bool:
        with self._changed:
            while self.idle:
                if self._stopping:
                    return False
                self._changed.wait()
            if self._stopping:
                self._scheduler.speculative.clear()
        return True

    def _drop_dead(self) -> None:
        """Free what its client has given up or what has run out of time."""
        with self._changed:
            for sequence in [one for one in self._scheduler.waiting if one.future.cancelled() or one.expired]:
                self._scheduler.waiting.remove(sequence)
                self._expire(sequence)
        for sequence in [one for one in self._scheduler.active if one.future.cancelled() or one.expired]:
            self._scheduler.stop(sequence, keep=False)
            self._expire(sequence)

    def _expire(self, sequence: Sequence) -> None:
        if sequence.expired:
            self._fail(sequence, DeadlineError(f"not answered within {sequence.options.deadline_s:g} s"))
        self.stats.dropped += 1

    def _step(self) -> None:
        """At least one more token for every decoding sequence, one more chunk of the prompts."""
        try:
            replies, readings = self._drafted(), self._read_on()
            logits = self._forward(replies, readings)
            self._hand_out(replies, readings, logits)
        except Exception as error:
            for sequence in self._scheduler.active:
                self._fail(sequence, error)
            self._scheduler.clear()

    def _drafted(self) -> list[Reply]:
        """All decoding sequences, with drafts as long as there is room for them in a step."""
        replies, room = [], self.config.prefill_chunk
        for sequence in self._scheduler.decoding:
            replies.append(Reply(sequence, self._drafter.draft(sequence, room)))
            room -= len(replies[-1].draft)
        return replies

    def _read_on(self) -> list[Reading]:
        """The chunks of this step. At most one image is encoded, so that decoding sequences never wait for several."""
        readings, may_encode = [], True
        for sequence, length in list(self._scheduler.next_chunks()):
            try:
                end, may_encode = self._encode_images(sequence, sequence.num_read + length, may_encode)
                if end > sequence.num_read:
                    chunk = Chunk(sequence.row, sequence.num_read, end - sequence.num_read)
                    readings.append(Reading(sequence, chunk, chunk_features(sequence, chunk)))
            except Exception as error:
                self._scheduler.stop(sequence, keep=False)
                self._fail(sequence, error)
        return readings

    def _encode_images(self, sequence: Sequence, end: int, may_encode: bool) -> tuple[int, bool]:
        """Have the features of the images before `end`, or move `end` before the first one that must still wait."""
        prompt = sequence.prompt
        for number, image in enumerate(prompt.images):
            owned = prompt.image_positions[prompt.image_bounds[number] : prompt.image_bounds[number + 1]]
            if number in sequence.features or owned[-1] < sequence.num_read:
                continue
            if owned[0] >= end:
                break
            features = image.features if image.features is not None else self.cache.get(image.key)
            if features is None and not may_encode:
                return int(owned[0]), may_encode
            if features is None:
                features, may_encode = self._encode(image), False
            else:
                self.stats.image_hits += 1
            sequence.features[number] = features
        return end, may_encode

    def _encode(self, image: ImageInput) -> torch.Tensor:
        self.stats.image_misses += 1
        features = self.model.encode_image(image.pixels)
        self.cache.put(image.key, features)
        return features

    def _forward(self, replies: Listed[Reply], readings: Listed[Reading]) -> torch.Tensor:
        """Logits behind the new tokens of the replies, then those that the chunks want."""
        token_ids = [token for reply in replies for token in reply.new_tokens]
        wanted = list(range(len(token_ids)))
        adapters = [reply.sequence.prompt.adapter for reply in replies for _ in reply.new_tokens]
        for reading in readings:
            wanted += [len(token_ids) + index for index in reading.wanted]
            token_ids += reading.sequence.prompt.token_ids[reading.chunk.start : reading.chunk.end]
            adapters += [reading.sequence.prompt.adapter] * reading.chunk.length
        step = self.model.new_step(
            self._scheduler.slots, [reply.chunk for reply in replies], [reading.chunk for reading in readings]
        )
        features = [feature for reading in readings for feature in reading.features]
        with self.model.adapters.routed(adapters):
            return self.model.forward(token_ids, features, step, wanted)

    def _hand_out(self, replies: list[Reply], readings: list[Reading], logits: torch.Tensor) -> None:
        begin, answered = sum(len(reply.new_tokens) for reply in replies), list(replies)
        rows = list(range(begin))
        for reading in readings:  # all of them before any moves to another row with what it has read
            reading.sequence.num_read = reading.chunk.end
        for reading in readings:
            sequence, end = reading.sequence, begin + len(reading.wanted)
            if sequence.options.num_scored:
                self._score(reading, logits[begin:end])
            elif sequence.options.speculative and reading.complete:
                self._scheduler.stop(sequence, keep=True)
            elif reading.complete:
                self._scheduler.start_decoding(sequence)
                self.stats.count_prompt(sequence)
                answered.append(Reply(sequence))
                rows.append(begin)
            begin = end
        if answered:
            for sequence, reason in self._append(answered, logits[rows]):
                self._finish(sequence, reason)
        num_chunk_tokens = sum(reading.chunk.length for reading in readings)
        num_drafted = sum(len(reply.draft) for reply in replies)
        num_kept = sum(reply.sequence.last_kept for reply in replies if reply.draft)
        self.stats.count_step(len(replies), num_drafted, num_kept, num_chunk_tokens)

    def _score(self, reading: Reading, logits: torch.Tensor) -> None:
        """Log-probabilities of the scored tokens in a chunk."""
        sequence, first = reading.sequence, reading.chunk.start + reading.wanted.start + 1
        targets = sequence.prompt.token_ids[first : first + len(reading.wanted)]
        if targets:
            picked = logits.log_softmax(-1).gather(1, torch.tensor(targets, device=logits.device)[:, None])
            sequence.logprobs += picked[:, 0].tolist()
        if reading.complete:
            self.stats.count_prompt(sequence)
            self._finish(sequence, "scored")

    def _append(self, replies: Listed[Reply], logits: torch.Tensor) -> list[tuple[Sequence, str]]:
        """Draw a token from each row of `logits` and keep those whose draft was right so far; returns the sequences
        that ended, and why."""
        params, uniforms = [], []
        for reply in replies:
            sequence = reply.sequence
            for number in range(len(sequence.token_ids), len(sequence.token_ids) + 1 + len(reply.draft)):
                if number < sequence.params.min_new_tokens:
                    logits[len(params), self.model.eos_ids] = -torch.inf
                params.append(sequence.params)
                uniforms.append(sequence.uniform(number) if sequence.params.temperature > 0 else 0.0)
        drawn = iter(zip(*sample(logits, params, uniforms), strict=True))
        ended = []
        for reply in replies:
            reason = self._keep(reply, [next(drawn) for _ in range(1 + len(reply.draft))])
            if reason:
                ended.append((reply.sequence, reason))
        return ended

    def _keep(self, reply: Reply, drawn: Listed[tuple[int, float]]) -> str:
        """Add what was drawn up to the first token that the draft had wrong; returns why the reply ended, if so."""
        sequence, reason = reply.sequence, ""
        for kept, (token, logprob) in enumerate(drawn):
            sequence.token_ids.append(token)
            sequence.logprobs.append(logprob)
            if sequence.options.on_token is not None:
                sequence.options.on_token(token, logprob)
            reason = self._finish_reason(sequence)
            if reason or kept == len(reply.draft) or token != reply.draft[kept]:
                break
        if reply.draft:
            sequence.last_kept = kept
        return reason

    def _finish_reason(self, sequence: Sequence) -> str:
        """Empty while the reply goes on."""
        stop = sequence.options.stop
        if sequence.token_ids[-1] in self.model.eos_ids or (stop is not None and stop(sequence.token_ids)):
            return "stop"
        return "length" if len(sequence.token_ids) == sequence.max_new_tokens else ""

    def _finish(self, sequence: Sequence, reason: str) -> None:
        self._scheduler.stop(sequence, keep=True)
        self._drafter.remember(sequence.token_ids)
        if sequence.future.set_running_or_notify_cancel():
            completion = sequence.completion(reason, self.model.weights_version)
            self.stats.count_completion(completion)
            sequence.future.set_result(completion)

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        if not isinstance(error, UserError | DeadlineError):
            log.error("a request failed", exc_info=error)
        if not sequence.future.done() and sequence.future.set_running_or_notify_cancel():
            sequence.future.set_exception(error)
