"""What a family says about its images: how many tokens they take, and the pixels that its vision tower gets."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from PIL import Image

Pixels = dict[str, torch.Tensor]
"""What a vision tower takes, by name; the first axis of every tensor counts units."""


class ImageEncoder(Protocol):
    """What a model's `images.py` has: sizes are in pixels, units are what its vision tower takes one of.

    `expand` puts for the marks of a text's images, of which the first `sizes` are, what the model is to see there.
    `process` is Hugging Face's own output for one image, as its models take it; `encode` that of many, by units.
    """

    def __init__(self, processor: Any, hf: Any) -> None: ...

    def num_units(self, height: int, width: int) -> int: ...

    def num_tokens(self, height: int, width: int) -> int: ...

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str: ...

    def process(self, image: Image.Image) -> Any: ...

    def encode(self, images: list[Image.Image]) -> Pixels: ...


def repeat_marks(encoder: ImageEncoder, mark: str, text: str, sizes: Sequence[tuple[int, int]]) -> str:
    """`text` in which every `mark` stands as often as its image has tokens."""
    pieces = text.split(mark)
    counts = [encoder.num_tokens(*size) for size in sizes[: len(pieces) - 1]]
    return pieces[0] + "".join(mark * count + piece for count, piece in zip(counts, pieces[1:], strict=True))
