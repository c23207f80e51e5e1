"""The loader's host memory as `--dry_run` counts it."""

from pathlib import Path

from models.registry import family
from tests.conftest import ROOT
from training.batches.pixel_queue import PIXEL_BYTES
from training.config import Config
from training.memory.loader_memory import loader_memory

SHAPE = ROOT / "training" / "memory" / "shapes" / "idefics2-8b"
IMAGE = 3 * 980 * 980 * 4


def memory(**options: object):
    hf = family(SHAPE).read_config(SHAPE)
    return loader_memory(Config(Path("shards"), Path("mg"), **options), hf, data_parallel=2)


def test_pixels_are_the_bound_and_the_micro_batch_at_work() -> None:
    assert memory(tp=1).pixels == PIXEL_BYTES + 3 * IMAGE
    assert memory(tp=8).pixels == PIXEL_BYTES + IMAGE


def test_a_micro_batch_beyond_the_bound_counts_twice() -> None:
    assert memory(tp=1, batch_size=32).pixels == 2 * 96 * IMAGE


def test_without_loader_processes_only_the_micro_batch_at_work_is_there() -> None:
    assert memory(tp=1, num_workers=0).pixels == 3 * IMAGE


def test_tokens_are_those_of_the_steps_ahead() -> None:
    assert memory(num_workers=8).tokens == 20 * 32 * 8192 * 9
