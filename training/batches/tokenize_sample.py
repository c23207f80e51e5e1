"""A sample of a shard as what a model is trained on."""

from collections.abc import Sequence
from typing import Any

import torch

from common.errors import UserError
from models.text import check_embedded
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from training.batches.collate import TokenizedSample
from training.batches.columns import ColumnJoin, SampleColumns
from training.samples.pictures import FilePart, read_picture


def tokenize(
    encoder: ConversationEncoder,
    sample_id: str,
    fields: dict[str, Any],
    images: Sequence[bytes | FilePart],
    join: ColumnJoin | None = None,
    at_drawn: bool = False,
) -> TokenizedSample:
    """A `TokenizedSample` of a shard's json member and image members, with the columns that `join` finds; `at_drawn`
    it is computed at the temperature that its reply was drawn at, as also where `join` compares with that.

    Raises:
        UserError: as `ConversationEncoder.encode` and `ColumnJoin.of`, the sampled tokens are none, or the model has no
            embedding for a token.
    """
    try:
        sampled = SampledReply.of(fields)
    except UserError as error:
        raise UserError(f"sample {sample_id}: {error}") from None
    pictures = [read_picture(sample_id, image) for image in images]
    tokens = encoder.encode(sample_id, fields["conversations"], [picture.size for picture in pictures], sampled)
    _check_embedded(sample_id, tokens.ids, encoder)
    columns = join.of(sample_id, fields, tokens.loss_mask, tokens.behavior_logprobs) if join else SampleColumns()
    drawn = sampled if at_drawn or (join and join.reads_drawn) else None
    temperature = drawn.temperature if drawn else 1.0
    if not temperature:
        raise UserError(f"sample {sample_id}: was drawn at temperature 0, at which nothing else was probable")
    version = sampled.weights_version if sampled else ""
    return TokenizedSample(
        sample_id, tokens.ids, tokens.loss_mask, pictures, columns, tokens.behavior_logprobs, version, temperature
    )


def _check_embedded(sample_id: str, ids: torch.Tensor, encoder: ConversationEncoder) -> None:
    """Megatron's padding of the vocabulary would take such a token for one of its own."""
    try:
        check_embedded(int(ids.max()), encoder.image_encoder.vocab_size)
    except UserError as error:
        raise UserError(f"sample {sample_id}: {error}") from None
