"""What a sample costs a replica, estimated from its texts and the headers of its images: by it a step is dealt out."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from data.samples.whole_trajectory import EARLIER
from models.tokens.encoding import ConversationEncoder
from models.vision import VisionSide
from training.batches.flops import language_flops
from training.batches.packing import deal_out
from training.samples.pictures import read_picture
from training.samples.stored_sample import StoredSample

_PART = 1000
"""Characters of a text whose tokens are counted; the rest is taken to be like them."""


@dataclasses.dataclass(frozen=True)
class CostModel:
    """FLOPs of the language model (attention grows with the square of a sample's tokens) and of the vision tower."""

    encoder: ConversationEncoder
    text: Any
    """The language model's Hugging Face configuration."""
    vision: VisionSide
    learns_vision: bool
    packing: bool

    def share(self, batch: Sequence[StoredSample], replica: int, num_replicas: int) -> list[StoredSample]:
        """The samples of a global batch that are number `replica`'s, in their order: packed, of as even a cost as may
        be; else also as many as the others', since each may be padded to the same length."""
        if num_replicas == 1:
            return list(batch)
        shares = deal_out(self.costs(batch), num_replicas, same_count=not self.packing)
        return [batch[index] for index in shares[replica]]

    def costs(self, batch: Sequence[StoredSample]) -> list[float]:
        """Of each sample: FLOPs of a forward and a backward pass, the same on every replica that asks."""
        passes, images = 3 if self.learns_vision else 1, self.encoder.image_encoder
        of_image = functools.cache(lambda *size: passes * self.vision.image_flops(images, *size))
        return [self._cost(sample, of_image) for sample in batch]

    def _cost(self, sample: StoredSample, of_image: Any) -> float:
        sizes = [read_picture(sample.id, image).size for image in sample.find_images()]
        turns = [turn["value"] for turn in sample.fields["conversations"]]
        replies, first = (turns[1::2], 1) if EARLIER in sample.fields else (turns[-1:], -1)
        of_text = self._count_tokens("".join(turns))
        of_images = sum(self.encoder.image_encoder.num_tokens(*size) for size in sizes)
        length = min(of_text + of_images, self.encoder.seq_len)
        read = min(self._count_tokens("".join(turns[first:])), length)
        language = language_flops(self.text, [length], [read], self._count_tokens("".join(replies)))
        return language + sum(of_image(*size) for size in sizes)

    def _count_tokens(self, text: str) -> float:
        start = max(0, len(text) - _PART) // 2
        part = text[start : start + _PART]
        return len(self.encoder.tokenizer(part, add_special_tokens=False)["input_ids"]) * len(text) / max(1, len(part))
