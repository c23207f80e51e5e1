"""Seconds until training starts: the survey of all samples, the first time and with what it found kept.

python -m benchmarks.survey --num_samples 100000
"""

import dataclasses
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.training_samples import STARTING_POLICY
from common import cli
from common.processes import num_cores
from data.shards.shard import Sample, write_shards
from tests import tiny
from training.launch.survey import Reading, check_samples

_STEPS = 3
"""Of each sample, all with a screenshot, the newest with a tree."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Survey drawn samples of three screenshots of 1024x768 and a tree of 80 lines."""

    num_samples: int = 2000
    seq_len: int = 8192


def drawn(count: int) -> Iterator[Sample]:
    """`count` samples; a screenshot is the same in up to three of them, as in the steps of a trajectory."""
    rng = random.Random(0)
    pictures = [tiny.samples.picture(rng, 1024, 768) for _ in range(20)]
    for number in range(count):
        lines = (f"[{line}] link 'Result {line} of the shop, price {line * number % 997}'" for line in range(80))
        tree = "\n".join(lines)
        turns = []
        for step in range(_STEPS):
            newest = step == _STEPS - 1
            asked = "You are a web agent. " * 60 if step == 0 else ""
            turns.append({"from": "human", "value": f"{asked}<image>\nOBSERVATION:\n{tree if newest else ''}"})
            turns.append({"from": "gpt", "value": f"Thought: result {step} fits.\nAction: Click [{step}]"})
        yield Sample(f"task--{number:06d}", turns, [pictures[(number + step) % 20] for step in range(_STEPS)])


def main(config: Config) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_shards(Path(folder), drawn(config.num_samples), max_samples=1000, source={})
        for when in ("first", "again"):
            start = time.perf_counter()
            check_samples(Path(folder), Reading(STARTING_POLICY, config.seq_len, _STEPS))
            print(f"{when}: {time.perf_counter() - start:.2f} s for {config.num_samples} samples, {num_cores()} cores")


if __name__ == "__main__":
    cli.run(Config, main)
