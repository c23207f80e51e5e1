"""Where a step's time goes."""

import contextlib
import time
from collections.abc import Iterator

import torch

from training.loop.vision_meter import VisionMeter


class Clock:
    """Seconds of a step by phase: `data` (waiting for it), `forward_backward`, `optimizer`, and `vision`, the images'
    way through the vision tower and the connector, which is a part of forward_backward.

    A GPU works behind the program's back, so each phase waits for it; that is twice a step.
    """

    def __init__(self, vision: VisionMeter) -> None:
        self.vision = vision
        self.restart()

    def restart(self) -> None:
        """A step begins."""
        self.seconds = {"data": 0.0, "vision": 0.0, "forward_backward": 0.0, "optimizer": 0.0}
        self.vision.restart()
        self._started = time.perf_counter()

    def total(self) -> float:
        """Seconds since `restart`."""
        return time.perf_counter() - self._started

    def move(self, measured_as: str, phase: str, seconds: float) -> None:
        """What was measured as a part of one phase belongs to another."""
        self.seconds[measured_as] -= seconds
        self.seconds[phase] += seconds

    @contextlib.contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        torch.cuda.synchronize()
        self.seconds[phase] += time.perf_counter() - started
        self.seconds["vision"] = self.vision.stopwatch.seconds()
