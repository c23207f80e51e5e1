"""Which sample goes into which shard: one seeded shuffle, with samples that show the same screenshots kept together."""

import random
from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def plan_shards(items: Sequence[tuple[Item, Sequence[Hashable]]], max_samples: int, seed: int) -> list[list[Item]]:
    """Distribute `items`, pairs of (sample, its images), over shards of at most `max_samples`.

    The samples are shuffled; each goes into the shard of the first sample that it shares an image with, so that a shard
    can store the image once. In a shard the shuffled order stays. Without shared images this is the plain shuffle, cut
    into shards.
    """
    order = list(range(len(items)))
    random.Random(seed).shuffle(order)
    shards: list[list[int]] = []
    for group in _groups([items[index][1] for index in order]):
        for start in range(0, len(group), max_samples):
            part = group[start : start + max_samples]
            if not shards or len(shards[-1]) + len(part) > max_samples:
                shards.append([])
            shards[-1] += part
    return [[items[order[rank]][0] for rank in sorted(shard)] for shard in shards]


def _groups(image_lists: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Positions joined by shared images, each group and the list of them in order of position."""
    parent = list(range(len(image_lists)))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    first: dict[Hashable, int] = {}
    for position, images in enumerate(image_lists):
        for image in images:
            a, b = root(first.setdefault(image, position)), root(position)
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for position in range(len(image_lists)):
        groups.setdefault(root(position), []).append(position)
    return list(groups.values())
