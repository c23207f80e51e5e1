"""Feature cache: what the vision tower made of an image, kept by the image's hash.

An agent sends the same screenshot in up to three consecutive steps; only the first of them pays for resizing and
encoding.
"""

import collections
import threading

import torch


class FeatureCache:
    """Image features, of which the ones unused for longest go first; safe to use from any thread. `EngineMemory` bounds
    their bytes."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._features: collections.OrderedDict[str, torch.Tensor] = collections.OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._features)

    def get(self, key: str) -> torch.Tensor | None:
        """[image_tokens, hidden], or None."""
        with self._lock:
            if key in self._features:
                self._features.move_to_end(key)
            return self._features.get(key)

    def put(self, key: str, features: torch.Tensor) -> None:
        """Keep features [image_tokens, hidden]."""
        with self._lock:
            old = self._features.pop(key, None)
            self._features[key] = features
            self.nbytes += features.nbytes - (old.nbytes if old is not None else 0)

    def shrink(self, nbytes: int) -> None:
        """Drop features until at most `nbytes` are kept."""
        with self._lock:
            while self._features and self.nbytes > nbytes:
                _, features = self._features.popitem(last=False)
                self.nbytes -= features.nbytes
