"""How idefics2's images become what its vision tower takes."""

import re
from collections.abc import Sequence
from typing import Any

from PIL import Image

from common.errors import UserError
from models import images
from models.idefics2.family import FAMILY
from models.images import Pixels

_FENCE = "<fake_token_around_image>"
_PARTS = FAMILY.parts_of_split_image  # its four quarters, then the whole


class ImageEncoder(images.ImageEncoder):
    """An image is one unit, or five where the processor splits images; those of one batch are padded to the largest."""

    def __init__(self, processor: Any, hf: Any) -> None:
        """`UserError` when the processor writes another number of `<image>` tokens than the model has latents."""
        super().__init__(processor, hf)
        self.patch_size = hf.vision_config.patch_size
        self.latents = hf.perceiver_config.resampler_n_latents
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
        return self.image_processor(images=[images], return_tensors="pt")
