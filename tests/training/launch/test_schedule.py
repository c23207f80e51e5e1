"""The learning rate: a linear warm-up, then down to its minimum as asked, or not at all."""

import math
from pathlib import Path

import pytest
import torch

from training.config import Config
from training.loop.optimization import build_scheduler

STEPS, WARMUP, MOST, LEAST = 10, 2, 1.0, 0.1


def learning_rates(schedule: str) -> list[float]:
    """Of the steps of a run, in order."""
    config = Config(Path(), Path(), lr=MOST, min_lr=LEAST, lr_warmup_iters=WARMUP, lr_schedule=schedule)
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.0)
    scheduler = build_scheduler(config, optimizer, STEPS)
    rates = []
    for _ in range(STEPS):
        scheduler.step(1)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def done(step: int) -> float:
    """The part of what comes after the warm-up."""
    return (step - WARMUP) / (STEPS - WARMUP)


@pytest.mark.parametrize(
    ("schedule", "rate"),
    [
        ("cosine", lambda step: LEAST + (MOST - LEAST) * (1 + math.cos(math.pi * done(step))) / 2),
        ("linear", lambda step: MOST - (MOST - LEAST) * done(step)),
        ("constant", lambda step: MOST),
    ],
)
def test_schedules(schedule: str, rate: object) -> None:
    warmup = [MOST * step / WARMUP for step in range(1, WARMUP + 1)]
    expected = warmup + [rate(step) for step in range(WARMUP + 1, STEPS + 1)]
    assert learning_rates(schedule) == pytest.approx(expected)
