"""Pixels of the micro-batches to come, made by threads of the training process, never more than a bound of them.

Decoding and scaling images releases Python's lock, so threads do it side by side. Pixels stay in the process that uses
them: nothing of them lies in shared memory, of which a container has little (Docker: 64 MB).
"""

import collections
import dataclasses
import threading
import time
from collections.abc import Callable

from training.modules.batching import Images

PIXEL_BYTES = 512 * 2**20
"""The most bytes of pixels that wait for their micro-batch on a rank; more only where one micro-batch has more."""
_FIRST_GUESS = 16 * 2**20


class LazyImages:
    """The images of a micro-batch: all are counted, this rank's share of their pixels is there when it is loaded."""

    def __init__(self, counted: Images, make: Callable[[], Images]) -> None:
        self.counted, self.waited_s = counted, 0.0
        self._make = make

    def load(self) -> Images:
        """With pixels, which are not kept. `waited_s` grows by the seconds that this took."""
        started = time.perf_counter()
        images = self._make()
        self.waited_s += time.perf_counter() - started
        return images


@dataclasses.dataclass
class _Job:
    make: Callable[[], Images]
    num_units: int
    num_bytes: int = 0
    """As counted against the limit while it is made and waits."""
    result: Images | Exception | None = None
    is_taken: bool = False


class PixelQueue:
    """Runs what is submitted in `num_threads` threads, in this order; results must be taken in this order, too.

    Without threads everything is made when it is taken.
    """

    def __init__(self, num_threads: int = 0, limit: int = PIXEL_BYTES) -> None:
        """`limit`: bytes of results that are being made or wait to be taken."""
        self.num_threads, self.limit = num_threads, limit
        self.held = self.most_held = 0
        self._unit_bytes = _FIRST_GUESS  # the most that a unit had so far
        self._has_measured = False
        self._jobs: collections.deque[_Job] = collections.deque()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def submit(self, num_units: int, make: Callable[[], Images]) -> Callable[[], Images]:
        """Have `make` called, which makes `num_units` units; what is returned waits for it and raises its error."""
        if not self.num_threads or not num_units:
            return make
        job = _Job(make, num_units)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
        self._start()
        return lambda: self._take(job)

    def _start(self) -> None:
        """At the first use: what forks before has no threads."""
        while len(self._threads) < self.num_threads:
            self._threads.append(threading.Thread(target=self._work, name="pixels", daemon=True))
            self._threads[-1].start()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._may_start)
                job = self._jobs.popleft()
                job.num_bytes = job.num_units * self._unit_bytes
                self._hold(job.num_bytes)
            try:
                result: Images | Exception = job.make()
            except Exception as error:  # raised where the result is wanted
                result = error
            with self._changed:
                if isinstance(result, Images):
                    self._measure(job, result)
                job.result = result
                self._changed.notify_all()

    def _may_start(self) -> bool:
        if not self._jobs:
            return False
        return not self.held or self.held + self._jobs[0].num_units * self._unit_bytes <= self.limit

    def _measure(self, job: _Job, images: Images) -> None:
        """From the guess to the bytes that there are."""
        num_bytes = sum(tensor.nbytes for tensor in (images.pixels or {}).values())
        per_unit = -(-num_bytes // job.num_units)
        self._unit_bytes = max(self._unit_bytes, per_unit) if self._has_measured else per_unit
        self._has_measured = True
        self._hold(num_bytes - job.num_bytes)
        job.num_bytes = num_bytes

    def _hold(self, num_bytes: int) -> None:
        self.held += num_bytes
        self.most_held = max(self.most_held, self.held)

    def _take(self, job: _Job) -> Images:
        with self._changed:
            self._changed.wait_for(lambda: job.result is not None or job.is_taken)
            result, job.result = job.result, None
            if not job.is_taken:
                job.is_taken = True
                self._hold(-job.num_bytes)
                self._changed.notify_all()
        if result is None:
            return job.make()  # taken once more
        if isinstance(result, Exception):
            raise result
        return result
