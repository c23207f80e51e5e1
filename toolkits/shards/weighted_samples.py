"""Samples that an algorithm gives a weight, out of all: the others would pass through the model for nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.samples.whole_trajectory import split_steps
from data.shards.columns import ColumnFiles
from data.shards.shard import Sample


def with_weight(samples: Sequence[Sample], path: Path, is_held_out: Callable[[Sample], bool]) -> list[Sample]:
    """Those whose `weight` or `share` (of a loss's denominator) is not 0, and all that are held out.

    Raises:
        UserError: `path` is no file of columns with weights, lacks a sample or was made for another one, or leaves
            none.
    """
    files = ColumnFiles([path], ["weight", "share"], [])
    if "weight" not in files:
        raise UserError(f"{path}: has no column weight, so it leaves nothing out")
    names = [name for name in ("weight", "share") if name in files]
    for sample in samples:
        if not is_held_out(sample):
            for step in _steps(sample):
                files.check(step["id"], step)
    kept = [
        sample
        for sample in samples
        if is_held_out(sample) or any(files.of_sample(name, step["id"]) for name in names for step in _steps(sample))
    ]
    if all(map(is_held_out, kept)):
        raise UserError(f"{path}: every sample has the weight 0; nothing to train on")
    return kept


def _steps(sample: Sample) -> list[dict[str, Any]]:
    """A whole trajectory stays where one of its steps has a weight."""
    return split_steps({**sample.extra, "id": sample.id, "conversations": sample.conversations})
