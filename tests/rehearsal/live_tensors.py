"""Bytes of all tensors that live in a rank, as a GPU's allocator would count them; a CPU has no such allocator.

Every operation's results are noted until their storage is freed, what autograd keeps for the backward pass included;
workspaces within an operation are not seen. After each optimizer step a line is written to `rank<n>.jsonl`:

    live         bytes after the step: weights, gradients, optimizer state
    peak         the most since the step before
    optimizer    of `live`: main weights and moments
    half         of `live`: in 16 bits, which with PR=bf16 are the weights
    rss          of the whole process, at this moment
"""

import collections
import json
import weakref
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveTensors(TorchDispatchMode):
    """Counts the storages behind all tensors that pass by."""

    def __init__(self) -> None:
        super().__init__()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.live = self.peak = 0
        self.by_type: collections.Counter[torch.dtype] = collections.Counter()
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.device.type == self.device:
                self._note(leaf)
        return result

    def _note(self, tensor: torch.Tensor) -> None:
        storage, dtype = tensor.untyped_storage(), tensor.dtype
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def forget(_: Any) -> None:
            del self._known[key]
            self.live -= size
            self.by_type[dtype] -= size

        self._known[key] = weakref.ref(storage, forget)
        self.live += size
        self.by_type[dtype] += size
        self.peak = max(self.peak, self.live)


def install(folder: str, rank: str) -> None:
    """Count from now on, and write to `folder` after every optimizer step."""
    counter = LiveTensors()
    counter.__enter__()
    path = Path(folder) / f"rank{rank}.jsonl"

    def write(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        state = [tensor for states in optimizer.state.values() for tensor in states.values()]
        main = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        line = {
            "live": counter.live,
            "peak": counter.peak,
            "optimizer": sum(tensor.untyped_storage().nbytes() for tensor in state + main if torch.is_tensor(tensor)),
            "half": counter.by_type[torch.bfloat16],
            "rss": psutil.Process().memory_info().rss,
        }
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")
        counter.peak = counter.live

    register_optimizer_step_post_hook(write)
