"""What a family says about its images: how many tokens they take, and the pixels that its vision tower gets."""

import abc
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from common.errors import UserError
from data.conversation import IMAGE

PAGE = (768, 1024)
"""Height and width of a screenshot, in pixels."""
Pixels = dict[str, torch.Tensor]
"""What a vision tower takes, by name; the first axis of every tensor counts units."""


class ImageEncoder(abc.ABC):
    """Sizes are (height, width) in pixels; units are what the family's vision tower takes one of."""

    mark = IMAGE
    """What the chat template writes for an image, and the token that each of its features takes the place of."""

    def __init__(self, processor: Any, hf: Any) -> None:
        self.image_processor = processor.image_processor
        self.token_id: int = hf.image_token_id
        self.vocab_size: int = hf.get_text_config().vocab_size

    def check(self) -> None:
        """`UserError` unless the processor makes of a page what the vision tower takes: it may be of another model."""
        height, width = PAGE
        where = f"the image processor (preprocessor_config.json), given a page of {width}x{height},"
        try:
            shape = tuple(self.encode([Image.new("RGB", (width, height))])["pixel_values"].shape)
        except Exception as error:  # many kinds, of transformers, numpy and PyTorch
            raise UserError(f"{where} fails: {(str(error).splitlines() or [type(error).__name__])[0]}") from None
        if not self.takes(shape):
            raise UserError(f"{where} makes pixels of shape {shape}, which the vision tower does not take")

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether these are the pixels of one page."""
        return shape[0] == self.num_units(*PAGE)

    @abc.abstractmethod
    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size."""

    @abc.abstractmethod
    def num_tokens(self, height: int, width: int) -> int:
        """`mark` tokens of an image of this size."""

    def process(self, image: Image.Image) -> Any:
        """Hugging Face's own output for one image: a `BatchFeature` of what its models take, and nothing else."""
        return self.image_processor(images=[image], return_tensors="pt")

    def encode(self, images: list[Image.Image]) -> Pixels:
        """That of many images, by units; by default each is one: pixel_values [n, 3, height, width]."""
        return {"pixel_values": self.image_processor(images=images, return_tensors="pt")["pixel_values"]}

    def part(self, pixels: Pixels, units: slice) -> Pixels:
        """Those of some of the units that `encode` made."""
        return {name: tensor[units] for name, tensor in pixels.items()}

    def is_feature(self, token_ids: torch.Tensor, sizes: Sequence[tuple[int, int]]) -> torch.Tensor:
        """[tokens] bool: which of `token_ids` [tokens] stand for features of the images of `sizes`. A mark that a
        policy has sampled, behind all of its prompt, is a token like others."""
        marks = token_ids == self.token_id
        return marks & (marks.cumsum(0) <= sum(self.num_tokens(*size) for size in sizes))

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str:
        """`text` in which what the model is to see stands for its marks; the first are of images of `sizes`."""
        pieces = text.split(self.mark)
        spelled = [self.spell(*size) for size in sizes[: len(pieces) - 1]]
        return pieces[0] + "".join(image + piece for image, piece in zip(spelled, pieces[1:], strict=True))

    def spell(self, height: int, width: int) -> str:
        """What the model is to see of an image of this size: by default the mark once for each feature."""
        return self.mark * self.num_tokens(height, width)

    def position_ids(self, token_ids: torch.Tensor, sizes: Sequence[tuple[int, int]]) -> torch.Tensor | None:
        """[rows, tokens]: where `token_ids` [tokens], with images of `sizes`, stand for the rotary embedding; what
        follows counts on from the largest, in all rows alike. None, as by default: one row that counts from 0."""
        return None
