"""Statistics: what the engine counts, for `/metrics` and benchmarks."""

import bisect
import dataclasses
import time

from server.engine.sequence import Completion, Sequence

_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Histogram:
    """Prometheus' cumulative histogram of seconds."""

    def __init__(self) -> None:
        self.bounds, self.counts = _BOUNDS_S, [0] * (len(_BOUNDS_S) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.sum += value


@dataclasses.dataclass
class EngineStats:
    """Counters only ever rise; they are written by the engine's thread and read by any."""

    steps: int = 0
    decode_tokens: int = 0
    draft_tokens: int = 0
    kept_tokens: int = 0
    chunk_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    finished: int = 0
    dropped: int = 0
    out_of_memory: int = 0
    image_hits: int = 0
    image_misses: int = 0
    batch_size: int = 0
    tokens_per_s: float = 0.0
    queue_s: Histogram = dataclasses.field(default_factory=Histogram)
    first_token_s: Histogram = dataclasses.field(default_factory=Histogram)
    total_s: Histogram = dataclasses.field(default_factory=Histogram)
    _last_step: float = dataclasses.field(default_factory=time.monotonic)

    def count_step(self, num_decoding: int, num_drafted: int, num_kept: int, num_chunk_tokens: int) -> None:
        """A forward pass is done. `tokens_per_s` forgets with a time constant of about a second."""
        now = time.monotonic()
        elapsed, self._last_step = max(now - self._last_step, 1e-6), now
        weight = min(1.0, elapsed)
        self.tokens_per_s += weight * ((num_decoding + num_kept) / elapsed - self.tokens_per_s)
        self.steps += 1
        self.batch_size = num_decoding
        self.decode_tokens += num_decoding + num_drafted
        self.draft_tokens += num_drafted
        self.kept_tokens += num_kept
        self.chunk_tokens += num_chunk_tokens

    def count_prompt(self, sequence: Sequence) -> None:
        """A prompt has been read."""
        sequence.answered = time.monotonic()
        self.prompt_tokens += sequence.prompt_tokens
        self.cached_tokens += sequence.cached_tokens

    def count_completion(self, completion: Completion) -> None:
        """A reply is ready."""
        self.finished += 1
        self.generated_tokens += len(completion.token_ids)
        self.queue_s.observe(completion.queue_s)
        self.first_token_s.observe(completion.first_token_s)
        self.total_s.observe(completion.total_s)

    def add(self, other: "EngineStats") -> None:
        """Take over what another engine has counted."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, Histogram):
                mine.counts = [a + b for a, b in zip(mine.counts, theirs.counts, strict=True)]
                mine.sum += theirs.sum
            elif isinstance(mine, int) and field.name != "batch_size":
                setattr(self, field.name, mine + theirs)
