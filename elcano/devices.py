"""Which GPUs a run may use, told without importing torch."""

import itertools
import os
from pathlib import Path


def visible_gpus() -> list[str]:
    """As CUDA names them: what CUDA_VISIBLE_DEVICES says, up to its first invalid entry; else the NVIDIA devices."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]
    names = (name.strip() for name in named.split(","))
    return list(itertools.takewhile(lambda name: name and not name.startswith("-"), names))


def num_gpus() -> int:
    """How many these are."""
    return len(visible_gpus())
