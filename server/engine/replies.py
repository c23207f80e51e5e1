"""Replies: what a step of the model computed becomes what requests wait for.

Drawn tokens are kept up to the first that a draft had wrong. A reply that ends gives its row back, and its future has
the completion, or the error. Nothing here allocates memory of the device.
"""

import logging
from collections.abc import Callable

from common.errors import UserError
from server.engine.batch import DraftedReply
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model_step import Computed, Drawn
from server.engine.scheduler import Scheduler
from server.engine.sequence import DeadlineError, MemoryFullError, Sequence
from server.engine.speculative_decoding import Drafter
from server.engine.stats import EngineStats

log = logging.getLogger("elcano.server")


class Replies:
    """Of one engine, whose thread calls it; `fail` is how that gives a request up."""

    def __init__(
        self,
        model: VisionLanguageModel,
        scheduler: Scheduler,
        drafter: Drafter,
        stats: EngineStats,
        fail: Callable[[Sequence, Exception], None],
    ):
        self._model, self._scheduler, self._drafter, self._stats, self._fail = model, scheduler, drafter, stats, fail

    def hand_out(self, step: Computed) -> None:
        """Move every sequence on by what the step computed of it."""
        for sequence, error in step.failed:
            self._give_up(sequence, error)
        self._note_read(step)
        ended: list[tuple[Sequence, str | Exception]] = []
        for reply, tokens in step.drawn:  # all of them before any moves, for a row moves with what its tokens say
            try:
                reason: str | Exception = self._keep(reply, tokens)
            except Exception as error:  # of what the request brought along: its stop rule, its listener
                reason = error
            if reason:
                ended.append((reply.sequence, reason))
        for sequence, reason in ended:
            if isinstance(reason, Exception):
                self._give_up(sequence, reason)
            else:
                self._finish(sequence, reason)
        num_chunk_tokens = sum(reading.chunk.length for reading in step.readings)
        num_drafted = sum(len(reply.draft) for reply in step.replies)
        num_kept = sum(reply.sequence.last_kept for reply in step.replies if reply.draft)
        self._stats.count_step(len(step.replies), num_drafted, num_kept, num_chunk_tokens)

    def _note_read(self, step: Computed) -> None:
        """What was read of prompts; one that is read whole begins its reply, or has its scores."""
        for reading in step.readings:  # all of them before any moves to another row with what it has read
            reading.sequence.num_read = reading.chunk.end
        for reading in step.readings:
            sequence = reading.sequence
            sequence.forget_features()
            if sequence.options.num_scored:
                sequence.scores += step.scores[sequence]
                if reading.complete:
                    self._stats.count_prompt(sequence)
                    self._finish(sequence, "scored")
            elif sequence.options.prefetch and reading.complete:
                self._scheduler.stop(sequence, keep=True)
            elif reading.complete:
                self._scheduler.start_decoding(sequence, step.spare)
                self._stats.count_prompt(sequence)

    def _keep(self, reply: DraftedReply, drawn: Drawn) -> str:
        """Add what was drawn up to the first token that the draft had wrong; returns why the reply ended, if so."""
        sequence, reason, kept = reply.sequence, "", 0
        for kept, token in enumerate(drawn):
            sequence.token_ids.append(token.token_id)
            sequence.drawn.append(token)
            if sequence.options.constraint is not None:
                sequence.options.constraint.consume(token.token_id)
            if sequence.options.on_token is not None:
                sequence.options.on_token(token)
            reason = self._finish_reason(sequence)
            if reason or kept == len(reply.draft) or token.token_id != reply.draft[kept]:
                break
        if reply.draft:
            sequence.last_kept = kept
        return reason

    def _finish_reason(self, sequence: Sequence) -> str:
        """Empty while the reply goes on."""
        stop, constraint = sequence.options.stop, sequence.options.constraint
        if sequence.token_ids[-1] in self._model.eos_ids or (stop is not None and stop(sequence.token_ids)):
            return "stop"
        if constraint is not None and constraint.complete:
            return "stop"
        return "length" if len(sequence.token_ids) == sequence.max_new_tokens else ""

    def _finish(self, sequence: Sequence, reason: str) -> None:
        self._scheduler.stop(sequence, keep=True)
        self._drafter.remember(sequence.token_ids)
        completion = sequence.completion(reason, self._model.version_of(sequence.prompt.adapter))
        if sequence.future.set_running_or_notify_cancel():
            self._stats.count_completion(completion)
            sequence.future.set_result(completion)

    def _give_up(self, sequence: Sequence, error: Exception) -> None:
        self._scheduler.stop(sequence, keep=False)
        self._fail(sequence, error)


def refuse(sequence: Sequence, error: Exception) -> None:
    """Give whoever waits for it the error; what is nobody's mistake and no lack of room is told in the log, too."""
    if not isinstance(error, UserError | DeadlineError | MemoryFullError):
        log.error("a request failed", exc_info=error)
    if not sequence.future.done() and sequence.future.set_running_or_notify_cancel():
        sequence.future.set_exception(error)
