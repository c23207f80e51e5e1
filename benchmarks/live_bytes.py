"""Bytes of the tensors that live, as an allocator of a GPU's would count them, on real tensors and on fake ones."""

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Notes every operation's results until their storage is freed, what autograd keeps for the backward pass included;
    workspaces within an operation are not seen. `peak` is the most that lived since it was set last."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = self.answer(func, args, kwargs or {})
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.note(leaf)
        return result

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the operation gives."""
        return func(*args, **kwargs)

    def add(self, nbytes: int, dtype: torch.dtype) -> None:
        """So many more live, of a type; fewer where it is negative."""
        self.live += nbytes
        self.peak = max(self.peak, self.live)

    def note(self, tensor: torch.Tensor) -> None:
        """Count it, unless its storage is known."""
        storage, dtype = tensor.untyped_storage(), tensor.dtype
        key, size = storage._cdata, storage.nbytes()

        def forget(_: Any) -> None:
            self._known.pop(key, None)
            self.add(-size, dtype)

        if key not in self._known:
            self._known[key] = weakref.ref(storage, forget)
            self.add(size, dtype)
