"""Which positions of a sequence each context-parallel rank holds.

A sequence is cut into 2 * size parts, and rank r holds the parts r and 2 * size - 1 - r, so that causal attention costs
every rank the same (Megatron's and TransformerEngine's order). Packed samples are cut each by itself.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch


class Block(NamedTuple):
    """Neighboring queries of one sample: where a rank holds them, and what they may attend to."""

    start: int
    """Of the queries among those the rank holds."""
    length: int
    keys: int
    """Where the sample starts in the whole row."""
    position: int
    """Of the first query in its sample."""


def blocks(lengths: Sequence[int], rank: int, size: int) -> Iterator[Block]:
    """What `rank` holds of samples of `lengths` laid one after the other, in the order it holds it."""
    start = keys = 0
    for length in lengths:
        part = length // (2 * size) if size > 1 else length
        for number in (rank, 2 * size - 1 - rank) if size > 1 else (0,):
            yield Block(start, part, keys, number * part)
            start += part
        keys += length


@functools.lru_cache(maxsize=4)
def local_positions(lengths: tuple[int, ...], rank: int, size: int, device: torch.device) -> torch.Tensor:
    """[n]: where in the whole row lies what `rank` holds, in the order it holds it."""
    held = [torch.arange(b.keys + b.position, b.keys + b.position + b.length) for b in blocks(lengths, rank, size)]
    return torch.cat(held).to(device)


@functools.lru_cache(maxsize=4)
def gathered_order(lengths: tuple[int, ...], size: int, device: torch.device) -> torch.Tensor:
    """[s]: index that puts what the ranks hold, one rank after the other, in the order of the whole row."""
    return torch.cat([local_positions(lengths, rank, size, device) for rank in range(size)]).argsort()
