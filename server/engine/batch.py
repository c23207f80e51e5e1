"""Batch: what one step of the model works on: replies that go on, and chunks of prompts that are read."""

import dataclasses

import torch

from server.engine.model.ragged_attention import Chunk
from server.engine.sequence import Sequence


@dataclasses.dataclass
class DraftedReply:
    """A sequence that decodes, and its `draft` for this step; a row of logits follows its newest token and each drafted
    one."""

    sequence: Sequence
    draft: list[int] = dataclasses.field(default_factory=list)

    @property
    def chunk(self) -> Chunk:
        sequence, length = self.sequence, 1 + len(self.draft)
        positions = sequence.prompt.positions(sequence.position, sequence.position + length)
        return Chunk(sequence.row, sequence.position, length, positions)

    @property
    def new_tokens(self) -> list[int]:
        return [self.sequence.token_ids[-1], *self.draft]


@dataclasses.dataclass
class Reading:
    """A chunk of one sequence's prompt in a step; `wanted` are the indices within it whose logits are needed."""

    sequence: Sequence
    chunk: Chunk
    features: list[torch.Tensor]

    @property
    def complete(self) -> bool:
        return self.chunk.end == self.sequence.prompt_tokens

    @property
    def asking(self) -> Chunk:
        """The chunk, and how many of its tokens stand before the wanted ones."""
        return dataclasses.replace(self.chunk, num_unread=min(self.wanted.start, self.chunk.length))

    @property
    def wanted(self) -> range:
        sequence, chunk = self.sequence, self.chunk
        if sequence.options.num_scored:  # the logits behind a token belong to the next one
            return range(max(sequence.first_scored - 1 - chunk.start, 0), chunk.length - self.complete)
        needed = self.complete and not sequence.options.prefetch
        return range(chunk.length - needed, chunk.length)


def chunk_features(sequence: Sequence, chunk: Chunk) -> list[torch.Tensor]:
    """The feature rows that fill the chunk's `<image>` tokens: of each image [n, h]."""
    prompt = sequence.prompt
    first, last = prompt.image_positions.searchsorted([chunk.start, chunk.end])
    rows = []
    for image, begin, end in zip(prompt.images, prompt.image_bounds, prompt.image_bounds[1:], strict=False):
        if begin < last and end > first:
            rows.append(sequence.features[image.key][max(first, begin) - begin : min(last, end) - begin])
    return rows
