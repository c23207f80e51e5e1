"""How idefics2's images become what its vision tower takes."""

import re
from collections.abc import Sequence
from typing import Any

from PIL import Image

from data.conversation import IMAGE
from data.errors import UserError
from training.models.batching import Pixels

_FENCE = "<fake_token_around_image>"


class ImageEncoder:
    """Every image is one unit; images of one batch are padded to the largest of them."""

    def __init__(self, processor: Any, hf: Any) -> None:
        """`UserError` when the processor writes another number of `<image>` tokens than the model has latents."""
        self.image_processor = processor.image_processor
        self.patch_size = hf.vision_config.patch_size
        self.latents = hf.perceiver_config.resampler_n_latents
        if processor.image_seq_len != self.latents:
            raise UserError(
                f"the processor's image_seq_len is {processor.image_seq_len}, but the model has {self.latents} latents"
            )

    def num_units(self, height: int, width: int) -> int:
        """Of an image of this size in pixels."""
        return 1

    def num_tokens(self, height: int, width: int) -> int:
        """`<image>` tokens of an image of this size in pixels."""
        return self.latents

    def expand(self, text: str, sizes: Sequence[tuple[int, int]]) -> str:
        """As Hugging Face's processor: an image stands between two fences, neighbours share one, a word keeps off."""
        text = text.replace(IMAGE, _FENCE + IMAGE * self.latents + _FENCE).replace(_FENCE * 2, _FENCE)
        return re.sub(rf"{_FENCE}(?=[^\s<])", f"{_FENCE} ", text)

    def encode(self, images: list[Image.Image]) -> Pixels:
        """pixel_values [n, 3, height, width]; patch_mask [n, rows, columns] bool, False where an image is padded."""
        batch = self.image_processor(images=[images], return_tensors="pt")
        mask = batch["pixel_attention_mask"][0].unfold(1, self.patch_size, self.patch_size)
        mask = mask.unfold(2, self.patch_size, self.patch_size).sum(dim=(-1, -2)) == self.patch_size**2
        return {"pixel_values": batch["pixel_values"][0], "patch_mask": mask}
