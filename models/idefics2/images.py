"""How idefics2's images become what its vision tower takes."""

import re
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image
from transformers.models.idefics2.image_processing_pil_idefics2 import (
    Idefics2ImageProcessorPil,
    get_resize_output_image_size,
)

from common.errors import UserError
from models import images
from models.idefics2.family import FAMILY
from models.images import Pixels

_FENCE = "<fake_token_around_image>"
_PARTS = int(FAMILY.parts_of_split_image)  # its four quarters, then the whole


class ImageEncoder(images.ImageEncoder):
    """An image is one unit, or five where the processor splits images; those of one batch are padded to the largest."""

    def __init__(self, processor: Any, hf: Any) -> None:
        """`UserError` when the processor writes another number of `<image>` tokens than the model has latents."""
        super().__init__(processor, hf)
        self.patch_size = hf.vision_config.patch_size
        self.latents: int = hf.perceiver_config.resampler_n_latents
        if processor.image_seq_len != self.latents:
            raise UserError(
                f"the processor's image_seq_len is {processor.image_seq_len}, but the model has {self.latents} latents"
            )

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return _PARTS if self.image_processor.do_image_splitting else 1

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return self.latents * self.num_units(height, width)

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str:
        """As Hugging Face's processor: a unit stands between two fences, neighbors share one, a word keeps off."""
        unit = _FENCE + self.mark * self.latents + _FENCE
        image = unit * (_PARTS if self.image_processor.do_image_splitting else 1)
        text = text.replace(self.mark, image).replace(_FENCE * 2, _FENCE)
        return re.sub(rf"{_FENCE}(?=[^\s<])", f"{_FENCE} ", text)

    def process(self, image: Image.Image) -> Any:
        """pixel_values [1, units, 3, height, width] and their pixel_attention_mask."""
        return self._process([image])

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [n, 3, height, width]; patch_mask [n, rows, columns] bool, False where an image is padded."""
        batch = self._process(images)
        mask = batch["pixel_attention_mask"][0].unfold(1, self.patch_size, self.patch_size)
        mask = mask.unfold(2, self.patch_size, self.patch_size).sum(dim=(-1, -2)) == self.patch_size**2
        return {"pixel_values": batch["pixel_values"][0], "patch_mask": mask}

    def _process(self, images: list[Image.Image]) -> Any:
        """Of a whole page Hugging Face's processor makes arrays and pictures in turns before it resizes it with Pillow.
        Where that gives the same it gets what Pillow has resized, which takes a third of the time."""
        if not self._resizes_first or any(image.mode != "RGB" for image in images):
            return self.image_processor(images=[images], return_tensors="pt")
        resized = list(map(self._resize, images))
        return self.image_processor(images=[resized], do_resize=False, return_tensors="pt")

    @property
    def _resizes_first(self) -> bool:
        processor = self.image_processor
        if not isinstance(processor, Idefics2ImageProcessorPil) or processor.do_image_splitting:
            return False
        return bool(processor.do_resize and processor.size["shortest_edge"] and processor.size["longest_edge"])

    def _resize(self, image: Image.Image) -> Image.Image:
        page = torch.empty(image.height, image.width, device="meta")  # its shape is all that is asked for
        height, width = get_resize_output_image_size(page, self.image_processor.size)
        return image.resize((width, height), self.image_processor.resample)
