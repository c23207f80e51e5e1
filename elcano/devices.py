"""How many GPUs a run may use, told without importing torch."""

import itertools
import os
from pathlib import Path


def num_gpus() -> int:
    """As CUDA counts them: what CUDA_VISIBLE_DEVICES names, up to its first invalid entry; else the NVIDIA devices."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return sum(1 for _ in Path("/dev").glob("nvidia[0-9]*"))
    names = (name.strip() for name in named.split(","))
    return sum(1 for _ in itertools.takewhile(lambda name: name and not name.startswith("-"), names))
