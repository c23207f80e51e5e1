"""What this GPU does at best: `python -m tests.gpu.ceilings --output ceilings.json`.

A product of two square matrices in bf16 (TFLOP/s) and a copy within its memory (TB/s, read and written), each the best
of some tries. Other figures are read as shares of these.
"""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import torch

from common import cli
from common.files import write_json

_TRIES = 10


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure the device's ceilings."""

    cpu: bool = False
    """Small sizes on this CPU."""
    output: Path = Path("ceilings.json")
    """Receives the numbers."""


def main(config: Config) -> None:
    """Measure and write."""
    device = torch.device("cpu" if config.cpu else "cuda")
    side, size = (512, 2**22) if config.cpu else (8192, 2**32)
    left, right = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    found = {
        "bf16_tflops": 2 * side**3 / _best_seconds(lambda: left @ right, device) / 1e12,
        "memory_tb_per_s": 2 * size / _best_seconds(lambda: target.copy_(source), device) / 1e12,
    }
    write_json(config.output, found)
    print(found)


def _best_seconds(work: Callable[[], object], device: torch.device) -> float:
    def once() -> float:
        begin = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    once()
    return min(once() for _ in range(_TRIES))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
