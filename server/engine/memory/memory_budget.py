"""Memory budget: the bytes that the engines of one device may hold beside their weights.

While new weights take over from old ones two engines live, and share it: what one holds the other cannot have, and
what the old one gives back the new one may take.
"""

import threading
from collections.abc import Callable

import torch

from server.engine.memory.release import return_cached_memory

_SHARE = 0.8  # of what is free; the rest is for a step's activations


class MemoryBudget:
    """`total_bytes` are fixed, or follow what is free: `free_bytes` says how much that is on the device, now.

    Safe to use from any thread.
    """

    def __init__(self, total_bytes: int | None = None, free_bytes: Callable[[], int] | None = None):
        self._fixed, self._free_bytes = total_bytes, free_bytes
        self._claims: dict[object, int] = {}
        self._lock = threading.Lock()
        self.total_bytes = 0
        self.measure()
        self.usual_bytes = self.total_bytes  # without a second model beside the first

    @classmethod
    def of_device(cls, device: torch.device, nbytes: int, follow_free: bool) -> "MemoryBudget":
        """`nbytes`; with `follow_free` a GPU's free memory instead."""
        if not follow_free or device.type != "cuda":
            return cls(nbytes)
        return_cached_memory()
        return cls(free_bytes=lambda: torch.cuda.mem_get_info(device)[0])

    def measure(self) -> None:
        """Measure anew what there is, after weights have come or gone."""
        with self._lock:
            self._measure()

    def settle(self, lost: object = None) -> None:
        """Measure when a single model is loaded: what no request may exceed. What `lost` holds is waited for no longer;
        it counts as another program's."""
        with self._lock:
            self._claims.pop(lost, None)  # and measured at once: nobody may take for free what is still held
            self._measure()
            self.usual_bytes = self.total_bytes

    def lower(self, nbytes: int) -> None:
        """Leave `nbytes` to weights that are about to be loaded; what is held already may stay."""
        if self._fixed is None:
            with self._lock:
                self.total_bytes = max(0, self.total_bytes - nbytes)

    def room(self, holder: object) -> int:
        """Bytes that `holder` may hold in all; negative when the others hold more than there is."""
        with self._lock:
            return self._room(holder)

    def claim(self, holder: object, nbytes: int) -> bool:
        """Whether `holder` may hold `nbytes`; then they are its own. Giving bytes back always succeeds."""
        with self._lock:
            if nbytes > max(self._room(holder), self._claims.get(holder, 0)):
                return False
            self._claims[holder] = nbytes
            return True

    def release(self, holder: object) -> None:
        """`holder` is gone."""
        with self._lock:
            self._claims.pop(holder, None)

    def held_by_others(self, holder: object) -> int:
        """Bytes of everybody else."""
        with self._lock:
            return sum(self._claims.values()) - self._claims.get(holder, 0)

    def _room(self, holder: object) -> int:
        return self.total_bytes - (sum(self._claims.values()) - self._claims.get(holder, 0))

    def _measure(self) -> None:
        if self._fixed is not None:
            self.total_bytes = self._fixed
        elif self._free_bytes is not None:
            self.total_bytes = sum(self._claims.values()) + int(_SHARE * self._free_bytes())
