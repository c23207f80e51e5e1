"""A conversation as the very tokens that a model reads: one way for trainer, scorer and server."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from models.images import ImageEncoder


@dataclasses.dataclass(frozen=True)
class Tokenized:
    """A text, its token ids, and the first character that each of them covers."""

    text: str
    ids: list[int]
    starts: list[int]


def render(
    processor: Any,
    images: ImageEncoder,
    messages: Sequence[dict[str, Any]],
    sizes: Sequence[tuple[int, int]],
    prompt: bool,
) -> str:
    """Messages through the chat template, in which each `<image>` stands as often as its image has tokens.

    Args:
        messages: {"role", "content": [{"type": "text", "text"} | {"type": "image"}]}.
        sizes: (height, width) in pixels of the images, in order.
        prompt: end where the next reply begins.
    """
    text = processor.apply_chat_template(list(messages), add_generation_prompt=prompt, tokenize=False)
    return images.expand(text, sizes)


def tokenize(tokenizer: Any, text: str) -> Tokenized:
    """As the processor does; a template that writes the first token itself gets no second one."""
    bos = tokenizer.bos_token
    special = not (bos and text.startswith(bos))
    encoded = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
    ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    length = 1 + max((index for index, (_, end) in enumerate(offsets) if end == len(text)), default=-1)
    return Tokenized(text, ids[:length], [start for start, _ in offsets[:length]])


def decode_reply(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """What sampled tokens say, without special tokens: the text that the server answers."""
    return tokenizer.decode(token_ids, skip_special_tokens=True).strip()
