"""Bytes of all tensors that live in a rank, as a GPU's allocator would count them; a CPU has no such allocator.

After each optimizer step a line is written to `rank<n>.jsonl`:

    live         bytes after the step: weights, gradients, optimizer state
    peak         the most since the step before
    optimizer    of `live`: main weights and moments
    half         of `live`: in 16 bits, which with PR=bf16 are the weights
    rss          of the whole process, at this moment
"""

import collections
import json
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from benchmarks.live_bytes import LiveBytes


class LiveTensors(LiveBytes):
    """Those of the device that trains, also by type."""

    def __init__(self) -> None:
        super().__init__()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.by_type: collections.Counter[torch.dtype] = collections.Counter()

    def note(self, tensor: torch.Tensor) -> None:
        if tensor.device.type == self.device:
            super().note(tensor)

    def add(self, nbytes: int, dtype: torch.dtype) -> None:
        super().add(nbytes, dtype)
        self.by_type[dtype] += nbytes


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
