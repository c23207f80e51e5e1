"""Which of a micro-batch's images a rank prepares, for any model."""

import dataclasses
from collections.abc import Callable, Sequence

import torch
from PIL import Image

from models.images import ImageEncoder
from training.modules.batching import Images, image_share


def encode_share(
    encoder: ImageEncoder, sizes: Sequence[tuple[int, int]], load: Callable[[int], Image.Image], rank: int, size: int
) -> Images:
    """The images of a micro-batch, of which rank `rank` of `size` loads and encodes only those it needs.

    Args:
        sizes: (height, width) of every image, in order.
        load: the RGB image of an index into `sizes`.
    """
    units = [encoder.num_units(*one) for one in sizes]
    share = image_share(sum(units), rank, size)
    pixels = None
    if share:
        starts = [sum(units[:index]) for index in range(len(units))]
        touched = [i for i, start in enumerate(starts) if start < share.stop and start + units[i] > share.start]
        encoded = encoder.encode([load(index) for index in touched])
        first = share.start - starts[touched[0]]
        pixels = encoder.part(encoded, slice(first, first + len(share)))
    return dataclasses.replace(only_counted(encoder, sizes), pixels=pixels)


def only_counted(encoder: ImageEncoder, sizes: Sequence[tuple[int, int]]) -> Images:
    """The images of a micro-batch for a rank that encodes none."""
    num_units = sum(encoder.num_units(*one) for one in sizes)
    num_features = tuple(encoder.num_tokens(*one) for one in sizes)
    return Images(None, num_units, torch.tensor(list(sizes), dtype=torch.long).view(-1, 2), num_features)
