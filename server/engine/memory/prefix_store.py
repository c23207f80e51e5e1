"""Prefix store: keys and values of what was read before, for prompts that begin alike.

Each session (an agent's episode) keeps its newest entry; under memory pressure the ones unused for longest go.
"""

import collections
import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import torch

One = TypeVar("One")


@dataclasses.dataclass(frozen=True)
class Entry:
    """`kv` [layers, 2, kv_heads, tokens, head_dim] belongs to the tokens with these `keys` (see `Prompt.keys`)."""

    keys: np.ndarray
    kv: torch.Tensor

    @property
    def nbytes(self) -> int:
        return self.kv.numel() * self.kv.element_size()


class PrefixStore:
    """Belongs to the engine's thread."""

    def __init__(self) -> None:
        self._entries: collections.OrderedDict[object, Entry] = collections.OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, session: object, entry: Entry) -> None:
        """Keep an entry, in place of the session's older one."""
        self.drop(session)
        self._entries[session] = entry
        self.nbytes += entry.nbytes

    def drop(self, session: object) -> None:
        """Forget a session's entry, if there is one."""
        old = self._entries.pop(session, None)
        self.nbytes -= old.nbytes if old else 0

    def longest(self, keys: np.ndarray) -> tuple[int, Entry | None]:
        """The entry that shares most of `keys` [n], and how many."""
        name = max(self._entries, key=lambda name: common_prefix(self._entries[name].keys, keys), default=None)
        shared = common_prefix(self._entries[name].keys, keys) if name is not None else 0
        if not shared:
            return 0, None
        self._entries.move_to_end(name)
        return shared, self._entries[name]

    def shrink(self, nbytes: int) -> None:
        """Drop entries until at most `nbytes` are kept."""
        while self._entries and self.nbytes > nbytes:
            self.drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything."""
        self.shrink(-1)


def common_prefix(one: np.ndarray, other: np.ndarray) -> int:
    """How many leading elements of [n] and [n] are equal."""
    length = min(len(one), len(other))
    different = one[:length] != other[:length]
    return int(different.argmax()) if different.any() else length


def best(candidates: Iterable[tuple[int, One]]) -> tuple[int, One | None]:
    """The pair with the largest number, (0, None) without any."""
    return max(candidates, key=lambda pair: pair[0], default=(0, None))
