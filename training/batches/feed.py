"""What a rank trains on, step by step. One rank of a replica reads and tokenizes; the others receive its tokens.

Ahead of training, where there are loader processes: the reader's loader, the broadcast and the micro-batches a few
steps, in a thread with a process group of its own; pixels as far as `PixelQueue` allows.
"""

import datetime
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch
from torch import distributed

from training.batches.collate import Collator, OptimizerStep, Share
from training.batches.dataset import EncodedShare
from training.batches.share_bytes import from_bytes, to_bytes

_AHEAD = 2
"""Steps whose tokens are made and sent before they are needed."""
PATIENCE = datetime.timedelta(days=1)  # a rank that died is torchrun's business

Item = TypeVar("Item")


class Replica:
    """The ranks that train on the same samples, the first of which reads them.

    What it broadcasts comes over a process group that asks nobody for a password, so nothing but shares can be made of
    it (`training.batches.share_bytes`).
    """

    def __init__(self, ranks: list[int], group: Any = None) -> None:
        """`group`: of several `ranks`, on CPU."""
        self.ranks, self.group = ranks, group

    @property
    def reads(self) -> bool:
        """Whether this rank does."""
        return len(self.ranks) == 1 or distributed.get_rank() == self.ranks[0]

    @staticmethod
    def own(data_rank: int) -> "Replica":
        """This rank's: the ranks that have the same data-parallel rank. A collective over all ranks."""
        numbers: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(numbers, data_rank)
        own: Replica | None = None
        for number in sorted(set(numbers)):
            ranks = [rank for rank, other in enumerate(numbers) if other == number]
            group = distributed.new_group(ranks, timeout=PATIENCE, backend="gloo") if len(ranks) > 1 else None
            own = Replica(ranks, group) if number == data_rank else own
        assert own is not None
        return own

    def broadcast(self, content: bytes | None) -> bytes:
        """The reader's `content` on every rank; the others give None."""
        if self.group is None:
            assert content is not None
            return content
        length = torch.tensor([len(content or b"")])
        distributed.broadcast(length, self.ranks[0], group=self.group)
        buffer = torch.frombuffer(bytearray(content or int(length)), dtype=torch.uint8)
        distributed.broadcast(buffer, self.ranks[0], group=self.group)
        return buffer.numpy().tobytes()

    def receive(self, shares: Iterator[Share]) -> Iterator[Share]:
        """What the reader's `shares` yield, on every rank; those of the others are not asked."""
        while True:
            share = from_bytes(self.broadcast(to_bytes(next(shares, None)) if self.reads else None))
            if share is None:
                return
            yield share


class Prefetcher(Generic[Item]):
    """Calls `produce` in a thread, up to `ahead` times before `take` asks for it.

    Whoever takes as often calls `produce` as often, so that ranks whose `produce` is a collective stay in step.
    """

    def __init__(self, produce: Callable[[], Item], ahead: int) -> None:
        """`ahead` = 0: no thread."""
        self.produce, self.ahead = produce, ahead
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Item | Exception] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def take(self) -> Item:
        """The next one; raises what `produce` raised."""
        if not self.ahead:
            return self.produce()
        if self._thread is None:
            first = self.produce()  # here: it may fork, and what forks should have no threads yet
            self._thread = threading.Thread(target=self._work, name="prefetch", daemon=True)
            self._thread.start()
            for _ in range(self.ahead):
                self._wanted.put(True)
            return first
        self._wanted.put(True)
        result = self._results.get()
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        """After what was asked for is there."""
        if self._thread is not None:
            self._wanted.put(False)
            self._thread.join()

    def _work(self) -> None:
        while self._wanted.get():
            try:
                self._results.put(self.produce())
            except Exception as error:  # raised where it is taken
                self._results.put(error)


class Feed:
    """This rank's optimizer steps, endlessly; every rank of all replicas takes them together."""

    def __init__(self, loader: Any, replica: Replica, collator: Collator, num_workers: int) -> None:
        """`loader`: of `dataset.build_loader` with `num_workers`, on the rank that reads; None on others."""
        self.loader, self.replica, self.collator = loader, replica, collator
        self._shares: Iterator[EncodedShare] | None = None
        self._state: Any = None
        self._prefetcher = Prefetcher(self._fetch, _AHEAD if num_workers else 0)

    def take(self) -> OptimizerStep:
        """The next step; waits for it."""
        step, self._state = self._prefetcher.take()
        return step

    def close(self) -> None:
        """Once, when nothing more is taken."""
        self._prefetcher.close()

    def save_state_rank(self) -> Any:
        """Where the data stands after the step that was taken last; on the rank that reads for the first replica."""
        if self._state is None and self.loader is not None:
            return self.loader.save_state_rank()
        return self._state

    def restore_state_rank(self, state: Any) -> None:
        """Go on from there; before the first step is taken."""
        if self.loader is not None:
            self.loader.restore_state_rank(state)

    def _fetch(self) -> tuple[OptimizerStep, Any]:
        """A step; and where it is fetched ahead, the loader's state after it, on the rank that is asked for that."""
        content = self._next_share() if self.loader is not None else None
        share = from_bytes(self.replica.broadcast(content))
        assert share is not None
        step, state = self.collator.step(share), None
        if self.loader is not None and self.collator.place.data_rank == 0 and self._prefetcher.ahead:
            state = self.loader.save_state_rank()
        return step, state

    def _next_share(self) -> bytes:
        if self._shares is not None:
            return next(self._shares).content
        random_state = torch.get_rng_state()  # torch's loader seeds its workers from it, and other ranks have none
        self._shares = iter(self.loader)
        first = next(self._shares)
        torch.set_rng_state(random_state)
        return first.content
