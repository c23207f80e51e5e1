"""Engine memory: KV slots, prefix store and image features of one engine, together within a `MemoryBudget`.

Slots and the features of the images that active sequences read come first; what may be made again (the store, then
the feature cache) gives way.
"""

import numpy as np
import torch

from server.engine.memory.feature_cache import FeatureCache
from server.engine.memory.kv_slots import KVSlots
from server.engine.memory.memory_budget import MemoryBudget
from server.engine.memory.prefix_store import Entry, PrefixStore
from server.engine.memory.release import is_out_of_memory

_FEATURE_SHARE = 8  # cached features take at most one part in this many of the budget


class EngineMemory:
    """Belongs to the engine's thread, but for `features.get`."""

    def __init__(self, slots: KVSlots, budget: MemoryBudget, feature_bytes_per_token: int):
        self.slots, self.budget, self.feature_bytes_per_token = slots, budget, feature_bytes_per_token
        self.store, self.features = PrefixStore(), FeatureCache()
        self.pinned = 0  # bytes of features that active sequences may hold beside the cache

    @property
    def nbytes(self) -> int:
        """All that is held."""
        return self.slots.held_bytes + self.pinned + self.store.nbytes + self.features.nbytes

    def fits_alone(self, length: int, num_image_tokens: int) -> bool:
        """Whether a sequence of this many positions can ever be served."""
        needed = self.slots.nbytes(1, length) + num_image_tokens * self.feature_bytes_per_token
        return needed <= max(self.budget.usual_bytes, self.budget.total_bytes)

    def allows(self, num_rows: int, capacity: int, pinned: int) -> bool:
        """Whether slots of this size and pinned features fit, also while the slots grow, when everything else gives
        way."""
        return self.slots.peak_bytes(num_rows, capacity) + pinned <= self.budget.room(self)

    def resize(self, num_rows: int, capacity: int, pinned: int) -> bool:
        """Give the slots this size and leave `pinned` bytes to features; False when there is no room for it.

        Raises whatever the allocator raises; the slots then hold what they held.
        """
        needed = self.slots.peak_bytes(num_rows, capacity) + pinned
        if not self._give_way(needed):
            return False
        if not self.budget.claim(self, needed + self.store.nbytes + self.features.nbytes):
            return False  # another engine was faster
        try:
            self.slots.resize(num_rows, capacity)
            self.pinned = pinned
        finally:
            self.settle()
        return True

    def keep_features(self, key: str, features: torch.Tensor) -> None:
        """Remember an image's features [n, h], if there is room."""
        limit = self.budget.total_bytes // _FEATURE_SHARE
        if features.nbytes <= limit:
            self.features.shrink(limit - features.nbytes)
            fits = self._give_way(self._needed + features.nbytes)
            if fits and self.budget.claim(self, self.nbytes + features.nbytes):
                self.features.put(key, features)
            self.settle()

    def keep_prefix(self, session: object, keys: np.ndarray, row: int) -> None:
        """Remember what a row holds, by its keys [n], if there is room; running out of memory here costs the store and
        nothing else."""
        nbytes = len(keys) * self.slots.bytes_per_token
        room = self.budget.room(self) - self._needed - self.features.nbytes
        if nbytes > room:
            return
        self.store.drop(session)
        self.store.shrink(room - nbytes)
        if self.budget.claim(self, self.nbytes + nbytes):
            try:
                self.store.put(session, Entry(keys, self.slots.read(row, len(keys))))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                self.store.clear()
        self.settle()

    def free(self) -> None:
        """Forget what may be made again."""
        self.store.clear()
        self.features.shrink(-1)
        self.settle()

    def settle(self) -> None:
        """Tell the budget what is held."""
        self.budget.claim(self, self.nbytes)

    def trim(self) -> None:
        """Come down to a budget that has become smaller."""
        self._give_way(self._needed)
        self.settle()

    @property
    def _needed(self) -> int:
        return self.slots.held_bytes + self.pinned

    def _give_way(self, needed: int) -> bool:
        """Shrink store, then features, until `needed` bytes fit beside them; whether they do."""
        room = self.budget.room(self) - needed
        self.store.shrink(room - self.features.nbytes)
        self.features.shrink(room - self.store.nbytes)
        return self.store.nbytes + self.features.nbytes <= room
