"""How long samples are in a model's tokens, its images' tokens among them, as training counts them."""

import collections
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.checkpoint_folder import find_weights, is_megatron
from data.conversation import IMAGE
from data.samples.whole_trajectory import split_steps
from data.shards.shard import Sample
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from toolkits.samples.tally import quantiles

_WHOLE = 2**24
"""Tokens that no sample reaches."""
_BAR = 512
_MOST_NAMED = 5


@dataclasses.dataclass
class TokenLengths:
    """Of the samples that were added: `lengths` before anything is cut, how many training would shorten to `seq_len`,
    and how many it would refuse, with the first reasons."""

    encoder: ConversationEncoder
    seq_len: int
    lengths: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    num_cut: int = 0
    num_refused: int = 0
    refused: list[str] = dataclasses.field(default_factory=list)

    @staticmethod
    def of(model: Path, seq_len: int, image_num: int) -> "TokenLengths":
        """By the processor of a checkpoint folder, Hugging Face's or Megatron's; `UserError` where it has none."""
        folder = find_weights(model)[1] if is_megatron(model) else model
        processor, kind = load_processor(folder), family(folder)
        images = kind.image_encoder(processor, kind.read_config(folder))
        return TokenLengths(ConversationEncoder(processor, images, _WHOLE, image_num, "answer"), seq_len)

    def add(self, sample: Sample, sizes: Sequence[tuple[int, int]]) -> None:
        """`sizes`: (height, width) of its images. Every step of a whole trajectory is a sequence of its own."""
        for step in split_steps({**sample.extra, "id": sample.id, "conversations": sample.conversations}):
            own = sum(turn["value"].count(IMAGE) for turn in step["conversations"])
            try:
                sampled = SampledReply.of(step)
                length = self._encode(step, sizes[:own], sampled, _WHOLE)
                self.lengths[length] += 1
                if length > self.seq_len:
                    self._encode(step, sizes[:own], sampled, self.seq_len)
                    self.num_cut += 1
            except UserError as error:
                self.num_refused += 1
                if len(self.refused) < _MOST_NAMED:
                    self.refused.append(str(error))

    def _encode(
        self, step: dict[str, Any], sizes: Sequence[tuple[int, int]], sampled: SampledReply | None, seq_len: int
    ) -> int:
        self.encoder.seq_len = seq_len
        return len(self.encoder.encode(step["id"], step["conversations"], sizes, sampled).ids)

    def report(self) -> dict[str, Any]:
        """The numbers, as JSON can hold them."""
        bars: collections.Counter[int] = collections.Counter()
        for length, count in self.lengths.items():
            bars[length // _BAR * _BAR] += count
        return {
            "tokens (median, longest)": quantiles(self.lengths),
            "tokens by length": {f"{low}-{low + _BAR - 1}": bars[low] for low in sorted(bars)},
            f"samples cut at SEQ_LEN={self.seq_len}": self.num_cut,
            "samples that training refuses": self.num_refused,
            **({"refused": self.refused} if self.refused else {}),
        }
