"""Feature cache: what the vision tower made of an image, kept by the image's hash.

An agent sends the same screenshot in up to three consecutive steps; only the first of them pays for resizing and
encoding.
"""

import collections
import threading

import torch


class FeatureCache:
    """The `capacity` most recently used image features; safe to use from any thread."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self._features: collections.OrderedDict[str, torch.Tensor] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> torch.Tensor | None:
        """[image_tokens, hidden], or None."""
        with self._lock:
            if key in self._features:
                self._features.move_to_end(key)
            return self._features.get(key)

    def put(self, key: str, features: torch.Tensor) -> None:
        """Keep features, dropping the ones unused for longest."""
        with self._lock:
            self._features[key] = features
            self._features.move_to_end(key)
            while len(self._features) > self.capacity:
                self._features.popitem(last=False)
