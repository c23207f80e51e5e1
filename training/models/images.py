"""Which of a micro-batch's images a rank prepares, for any model."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from PIL import Image

from training.models.batching import Images, Pixels, image_share


class ImageEncoder(Protocol):
    """What a model's `images.py` has: sizes are in pixels, units are what its vision tower takes one of.

    `expand` puts for the marks of a text's images, of which the first `sizes` are, what the model is to see there.
    """

    def __init__(self, processor: Any, hf: Any) -> None: ...

    def num_units(self, height: int, width: int) -> int: ...

    def num_tokens(self, height: int, width: int) -> int: ...

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str: ...

    def encode(self, images: list[Image.Image]) -> Pixels: ...


def repeat_marks(encoder: ImageEncoder, mark: str, text: str, sizes: Sequence[tuple[int, int]]) -> str:
    """`text` in which every `mark` stands as often as its image has tokens."""
    pieces = text.split(mark)
    counts = [encoder.num_tokens(*size) for size in sizes[: len(pieces) - 1]]
    return pieces[0] + "".join(mark * count + piece for count, piece in zip(counts, pieces[1:], strict=True))


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
        pixels = {name: tensor[first : first + len(share)] for name, tensor in encoded.items()}
    return Images(pixels, sum(units), torch.tensor(list(sizes), dtype=torch.long).view(-1, 2))


def only_counted(encoder: ImageEncoder, sizes: Sequence[tuple[int, int]]) -> Images:
    """The images of a micro-batch for a rank that encodes none."""
    num_units = sum(encoder.num_units(*one) for one in sizes)
    return Images(None, num_units, torch.tensor(list(sizes), dtype=torch.long).view(-1, 2))
