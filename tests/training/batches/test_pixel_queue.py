"""Pixels are made in order, side by side, and never more than the bound of them wait."""

import threading
import time

import pytest
import torch

from common.errors import UserError
from training.batches.pixel_queue import LazyImages, PixelQueue
from training.modules.batching import Images

UNIT = 3 * 100 * 100 * 4


def images(number: int, num_units: int = 1) -> Images:
    pixels = torch.full((num_units, 3, 100, 100), float(number))
    return Images({"pixel_values": pixels}, num_units, torch.zeros(num_units, 2, dtype=torch.long))


def value(made: Images) -> float:
    return float(made.pixels["pixel_values"].max())


def test_results_come_in_order_and_the_bound_holds() -> None:
    pixels = PixelQueue(num_threads=3, limit=4 * UNIT)
    made = [0]

    def make(number: int) -> Images:
        made[0] += 1
        return images(number, 2)

    pending = [pixels.submit(2, lambda number=number: make(number)) for number in range(20)]
    first = value(pending[0]())  # the size of a unit is known now
    pixels.most_held = pixels.held
    time.sleep(0.3)
    assert made[0] == 3  # one was taken, two of two units each are all that may wait
    assert [first, *(value(take()) for take in pending[1:])] == list(range(20))
    assert pixels.held == 0 and pixels.most_held <= 4 * UNIT


def test_a_micro_batch_beyond_the_bound_is_made_alone() -> None:
    pixels = PixelQueue(num_threads=2, limit=UNIT)
    pending = [pixels.submit(5, lambda number=number: images(number, 5)) for number in range(4)]
    assert [value(take()) for take in pending] == [0, 1, 2, 3]
    assert pixels.held == 0


def test_threads_work_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def make(number: int) -> Images:
        meeting.wait()
        return images(number)

    pixels = PixelQueue(num_threads=3)
    pending = [pixels.submit(1, lambda number=number: make(number)) for number in range(3)]
    assert [value(take()) for take in pending] == [0, 1, 2]


@pytest.mark.parametrize("num_threads", [0, 2])
def test_an_error_is_raised_where_the_pixels_are_wanted(num_threads: int) -> None:
    def fail() -> Images:
        raise UserError("sample s: broken image")

    pixels = PixelQueue(num_threads)
    broken, good = pixels.submit(1, fail), pixels.submit(1, lambda: images(7))
    with pytest.raises(UserError, match="sample s"):
        broken()
    assert value(good()) == 7
    assert value(good()) == 7  # taken once more: made once more


def test_waiting_is_measured() -> None:
    lazy = LazyImages(images(0), lambda: time.sleep(0.1) or images(1))
    lazy.load()
    assert 0.1 <= lazy.waited_s < 5
