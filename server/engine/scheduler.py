"""Scheduler: which sequences hold a row of the KV slots, within a memory budget, and which prompt tokens come next.

Rows 0 .. len(decoding)-1 decode; prompts are read in the rows above and move down when they are done. Whatever a new
prompt shares with something read before, in the slots or in the prefix store, is copied instead of computed.
"""

import collections
import time
from collections.abc import Iterable, Iterator

import torch

from server.engine.memory.engine_memory import EngineMemory
from server.engine.memory.prefix_store import best, common_prefix
from server.engine.sequence import Sequence


class Scheduler:
    """Belongs to the engine's thread; other threads only append to `waiting` and `prefetch`."""

    def __init__(self, memory: EngineMemory, max_batch_size: int, prefill_chunk: int):
        self.memory, self.slots = memory, memory.slots
        self.max_batch_size, self.prefill_chunk = max_batch_size, prefill_chunk
        self.waiting: collections.deque[Sequence] = collections.deque()
        self.prefetch: collections.deque[Sequence] = collections.deque()
        self.reading: list[Sequence] = []  # in the order in which they are read; prefetched ones last
        self.decoding: list[Sequence] = []  # decoding[i] has row i
        self.admitting: Sequence | None = None  # to which `admit` gives a row
        self.has_refused = False  # whether the newest `admit` found no room for the next in a queue

    @property
    def active(self) -> list[Sequence]:
        """All that hold a row."""
        return self.decoding + self.reading

    @property
    def queued(self) -> bool:
        return bool(self.waiting or self.prefetch)

    def fits_alone(self, sequence: Sequence) -> bool:
        """Whether it can ever be served."""
        return self.memory.fits_alone(sequence.max_length, sequence.num_image_tokens)

    def pop_next(self) -> Sequence:
        """Take the sequence that `admit` would give a row next."""
        return (self.waiting or self.prefetch).popleft()

    def admit(self) -> None:
        """Give rows to waiting sequences, in order, as long as rows and memory last; prefetching takes what is left."""
        self.has_refused, self.admitting = False, None
        while self.waiting and not self._awaits_twin(self.waiting[0]):
            self.admitting = self.waiting[0]
            self._overtake_prefetch(self.waiting[0].options.session)
            while len(self.active) == self.max_batch_size and self._preempt_prefetch():
                pass
            if not self._place(self.waiting[0]):
                self.has_refused = True
                return
            self.waiting.popleft()
        while self.prefetch and not self.waiting:
            self.admitting = self.prefetch[0]
            if not self._place(self.prefetch[0]):
                self.has_refused = True
                return
            self.prefetch.popleft()
        self.admitting = None

    def take_admitting(self) -> Sequence:
        """Take out the sequence at which `admit` has failed; nothing of it stays."""
        sequence, self.admitting = self.admitting, None
        assert sequence is not None
        (self.prefetch if sequence.options.prefetch else self.waiting).remove(sequence)
        self._release_unused()
        return sequence

    def next_chunks(self, alone: Sequence | None = None) -> Iterator[tuple[Sequence, int]]:
        """Sequences that read on in the next step, and how many tokens each may read; with `alone` no other."""
        budget = self.prefill_chunk
        for sequence in self.reading:
            if budget <= 0:
                return
            if alone not in (None, sequence):
                continue
            length = min(budget, sequence.prompt_tokens - sequence.num_read)
            budget -= length
            yield sequence, length

    def spare(self, readings: Iterable[Sequence]) -> torch.Tensor:
        """What `start_decoding` needs to move these sequences; allocated before anything moves."""
        moving = [one for one in readings if not one.options.prefetch]
        longest = max((one.prompt_tokens for one in self.reading), default=0) if moving else 0
        return self.slots.spare(longest)

    def start_decoding(self, sequence: Sequence, spare: torch.Tensor) -> None:
        """Its prompt is read: move it to the first row above the decoding ones."""
        target, source = len(self.decoding), sequence.row
        other = next((one for one in self.reading if one.row == target), None)
        if other is None:
            self.slots.copy(source, target, sequence.num_read)
        elif other is not sequence:
            self.slots.swap(source, target, max(sequence.num_read, other.num_read), spare)
            other.row = source
        sequence.row = target
        self.reading.remove(sequence)
        self.decoding.append(sequence)

    def stop(self, sequence: Sequence, keep: bool) -> None:
        """Take its row; with `keep`, what the row holds goes to the prefix store."""
        if keep:
            self._keep(sequence)
        if sequence in self.reading:
            self.reading.remove(sequence)
        else:
            last = self.decoding.pop()
            if last is not sequence:
                self.slots.copy(last.row, sequence.row, last.position)
                last.row = sequence.row
                self.decoding[last.row] = last
        sequence.row = -1
        self._release_unused()

    def clear(self) -> None:
        """Forget all that is active: after a failed step the slots cannot be trusted."""
        self.reading.clear()
        self.decoding.clear()
        self._release_unused()

    def drop_prefetch(self) -> None:
        """Give up what is read ahead."""
        for one in [one for one in self.reading if one.options.prefetch]:
            self.stop(one, keep=False)

    def compact(self) -> None:
        """Give back what the slots hold beyond the needs of the active sequences."""
        if self.active:
            rows, length = max(one.row for one in self.active) + 1, max(one.max_length for one in self.active)
            self.memory.resize(rows, length, self._pinned(self.active))

    def _place(self, sequence: Sequence) -> bool:
        """A row, and in it what is known of the prompt already; False when there is no room."""
        if len(self.active) == self.max_batch_size:
            return False
        used = {one.row for one in self.active}
        row = next(row for row in range(len(self.decoding), self.max_batch_size) if row not in used)
        if not self._make_room(max(used | {row}) + 1, [*self.active, sequence]):
            return False
        sequence.row, sequence.admitted = row, time.monotonic()
        self._reuse(sequence)
        self.slots.clear(row, sequence.num_read)
        if sequence.options.prefetch:
            self.reading.append(sequence)
        else:
            first = next((i for i, one in enumerate(self.reading) if one.options.prefetch), len(self.reading))
            self.reading.insert(first, sequence)
        return True

    def _make_room(self, num_rows: int, sequences: list[Sequence]) -> bool:
        """Grow the slots, at the expense of what may be made again, unless the budget forbids."""
        length, pinned = max(one.max_length for one in sequences), self._pinned(sequences)
        rows, capacity = self.slots.num_rows, max(length, self.slots.capacity)
        if num_rows > rows:
            rows = min(self.max_batch_size, max(num_rows, rows + rows // 2))
        if not self.memory.allows(rows, capacity, pinned):
            rows, capacity = num_rows, length  # a long sequence or a crowd that is gone has left the slots too large
            if not self.memory.allows(rows, capacity, pinned):
                return False
        return self.memory.resize(rows, capacity, pinned)

    def _pinned(self, sequences: Iterable[Sequence]) -> int:
        """Bytes of the image features that these may hold."""
        return self.memory.feature_bytes_per_token * sum(one.num_image_tokens for one in sequences)

    def _release_unused(self) -> None:
        if not self.active:
            self.slots.release()
        self.memory.pinned = self._pinned(self.active)
        self.memory.settle()

    def _reuse(self, sequence: Sequence) -> None:
        """Copy the longest beginning that is known."""
        keys = sequence.prompt.keys[: sequence.reusable]
        shared, neighbor = best((common_prefix(one.keys_in_slots, keys), one) for one in self.active)
        stored, entry = self.memory.store.longest(keys)
        if entry is not None and stored >= shared:
            self.slots.write(sequence.row, entry.kv, stored)
        elif shared and neighbor is not None:
            self.slots.copy(neighbor.row, sequence.row, shared)
        sequence.num_read = sequence.cached_tokens = max(shared, stored)

    def _awaits_twin(self, sequence: Sequence) -> bool:
        """Whether its very prompt is being read: better wait and copy than read it twice."""
        return any(one.prompt is sequence.prompt for one in self.reading)

    def _overtake_prefetch(self, session: str | None) -> None:
        """The session's request is here: what was read ahead so far goes to the prefix store, where it looks."""
        for one in [one for one in self.reading if one.options.prefetch]:
            if one.options.session == session:
                self.stop(one, keep=True)

    def _preempt_prefetch(self) -> bool:
        """Take a row from prefetching for a sequence that somebody waits for."""
        prefetched = next((one for one in reversed(self.reading) if one.options.prefetch), None)
        if prefetched is not None:
            self.stop(prefetched, keep=True)
        return prefetched is not None

    def _keep(self, sequence: Sequence) -> None:
        session = sequence.options.session
        self.memory.keep_prefix(object() if session is None else session, sequence.keys_in_slots, sequence.row)
