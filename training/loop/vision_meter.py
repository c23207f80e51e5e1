"""What the vision tower and the connector cost, measured where they run."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from models.vision import VisionSide


class VisionMeter:
    """What the vision tower and the connector do in a step: seconds of their forward passes, and FLOPs, three times
    those of a forward pass where something learns, once where all up to there is frozen.

    Recomputation in the backward pass happens outside their forward passes and is not counted.
    """

    def __init__(self, modules: Sequence[torch.nn.Module], vision: VisionSide) -> None:
        """`modules`: tower and connector, where this rank has them. `vision`: the family's numbers of them."""
        self.vision = vision
        self.stopwatch = _Stopwatch()
        self.inside = learns = False
        for number, module in enumerate(modules):
            learns = learns or any(parameter.requires_grad for parameter in module.parameters())
            enter = functools.partial(self._enter, is_tower=number == 0, passes=3 if learns else 1)
            module.register_forward_pre_hook(enter, with_kwargs=True)
            module.register_forward_hook(self._leave)
            for layer in module.modules():
                if isinstance(layer, (torch.nn.Linear, torch.nn.Conv2d)):
                    layer.register_forward_hook(self._count)
        self.restart()

    def restart(self) -> None:
        """A step begins."""
        self.flops = 0.0
        self.stopwatch.marks.clear()

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: dict[str, Any], is_tower: bool, passes: int) -> None:
        self.inside, self.passes = True, passes
        self.stopwatch.mark()
        if is_tower:
            self.flops += passes * self.vision.attention_flops(kwargs)

    def _leave(self, *_: Any) -> None:
        self.inside = False
        self.stopwatch.mark()

    def _count(self, layer: Any, args: Any, output: torch.Tensor) -> None:
        if self.inside:
            inputs = layer.weight[0].numel()  # multiplications and additions for one output
            self.flops += self.passes * 2.0 * output.numel() * inputs


class _Stopwatch:
    """Sums intervals of the device's own time, or of the program's where there is no GPU."""

    def __init__(self) -> None:
        self.now: Callable[[], Any] = _record_event if torch.cuda.is_available() else time.perf_counter
        self.marks: list[Any] = []

    def mark(self) -> None:
        """An interval begins or ends."""
        self.marks.append(self.now())

    def seconds(self) -> float:
        """Call it when the device is idle."""
        pairs = zip(self.marks[::2], self.marks[1::2], strict=True)
        if torch.cuda.is_available():
            return sum(start.elapsed_time(end) for start, end in pairs) / 1000
        return sum(end - start for start, end in pairs)


def _record_event() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
