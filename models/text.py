"""A conversation as the very tokens that a model reads: one way for trainer, scorer and server."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any

from common.errors import UserError
from data.conversation import IMAGE, escape_special, split_marks
from models.images import ImageEncoder

_PROBE = "Answer 7391"
"""A reply that no template writes of its own accord."""
_PROBED = (("user", "question"), ("assistant", _PROBE))


@dataclasses.dataclass(frozen=True)
class Tokenized:
    """A text, its token ids, and the first character that each of them covers and the one behind its last."""

    text: str
    ids: list[int]
    starts: list[int]
    ends: list[int]


def check_template(processor: Any) -> None:
    """`UserError` where nobody knows how to ask the model."""
    template = processor.chat_template
    if isinstance(template, dict) and "default" not in template:
        raise UserError(
            f"the checkpoint has chat templates for {', '.join(sorted(template))} alone; put the one to chat with into "
            "chat_template.jinja there"
        )
    if template and not isinstance(template, str | dict):
        raise UserError(
            "the checkpoint's chat template is no text; put that of its release into chat_template.jinja there"
        )
    if not template:
        raise UserError("the checkpoint has no chat template; put that of its release into chat_template.jinja there")


def render(
    processor: Any,
    images: ImageEncoder,
    messages: Sequence[dict[str, Any]],
    sizes: Sequence[tuple[int, int]],
    prompt: bool,
    tools: Sequence[dict[str, Any]] = (),
) -> str:
    """Messages through the chat template, in which each `<image>` stands as often as its image has tokens.

    Text that spells a special token is broken up, so that a page can neither add images nor end a turn.

    Args:
        messages: {"role", "content": [{"type": "text", "text"} | {"type": "image"}]}.
        sizes: (height, width) in pixels of the images, in order.
        prompt: end where the next reply begins. Spaces there are left out, since most tokenizers make one token of a
            space and the word behind it; a line's end is a token of its own and stays.
        tools: what the template is told that may be called, in OpenAI's form.

    Raises:
        UserError: the template fails on these messages, or the model reads no images.
    """
    escaped = [
        {
            **{name: _escape_all(processor.tokenizer, value) for name, value in message.items() if name != "content"},
            "content": [_escape_part(processor.tokenizer, part) for part in message["content"]],
        }
        for message in messages
    ]
    told = {"tools": _escape_all(processor.tokenizer, list(tools))} if tools else {}
    try:
        text = processor.apply_chat_template(escaped, add_generation_prompt=prompt, tokenize=False, **told)
    except UserError:
        raise
    except Exception as error:  # a template is a program: it raises what it likes
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"the model's chat template refuses these messages: {line}") from None
    return images.expand(text.rstrip(" ") if prompt else text.rstrip(), sizes)


def end_of_reply(processor: Any, images: ImageEncoder) -> str:
    """What the chat template writes behind a reply; where that is nothing, as llava-1.5's, the tokenizer's own end.

    Raises:
        UserError: the template fails on a reply, or does not write it once, as it is.
    """
    turns = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in _PROBED]
    rendered = render(processor, images, turns, (), prompt=False)
    if rendered.count(_PROBE) != 1:
        raise UserError("the chat template does not write an assistant's turn once, as it is")
    return rendered.partition(_PROBE)[2].strip() or processor.tokenizer.eos_token or ""


def escape(tokenizer: Any, text: str) -> str:
    """`text` without special tokens, be they a served family's or this tokenizer's: a space breaks each of them.

    Halves of surrogate pairs, which are no text, become question marks. What is escaped stays as it is.
    """
    text = escape_special(text.encode(errors="replace").decode())
    return _special(tokenizer).sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def escape_around_marks(tokenizer: Any, text: str) -> str:
    """As `escape`, but what says `<image>` is the mark of an image and stays."""
    parts = [_escape_part(tokenizer, part) for part in split_marks(text)]
    return "".join(part.get("text", IMAGE) for part in parts)


def _escape_all(tokenizer: Any, value: Any) -> Any:
    """`escape` for every text within."""
    if isinstance(value, str):
        return escape(tokenizer, value)
    if isinstance(value, dict):
        return {escape(tokenizer, str(name)): _escape_all(tokenizer, one) for name, one in value.items()}
    return [_escape_all(tokenizer, one) for one in value] if isinstance(value, list) else value


def _escape_part(tokenizer: Any, part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "text": escape(tokenizer, part["text"])} if part["type"] == "text" else part


@functools.lru_cache(maxsize=8)
def special_tokens(tokenizer: Any) -> frozenset[str]:
    """As they are spelled."""
    added = (token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
    return frozenset((*tokenizer.all_special_tokens, *added))


@functools.lru_cache(maxsize=8)
def _special(tokenizer: Any) -> re.Pattern[str]:
    """Finds the tokenizer's special tokens; one of a single character has no room for a space."""
    tokens = (token for token in special_tokens(tokenizer) if len(token) > 1)
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))) or "(?!)")


@functools.lru_cache(maxsize=8)
def _begins(tokenizer: Any) -> tuple[str, ...]:
    """What a text begins with that has its first tokens: bos, or all that the tokenizer adds."""
    added = "".join(tokenizer.convert_ids_to_tokens(tokenizer("").input_ids))
    return tuple(filter(None, (tokenizer.bos_token, added)))


def tokenize(processor: Any, text: str) -> Tokenized:
    """As transformers does behind a chat template: a processor adds the first tokens that the template did not write
    itself; of a language model alone the template writes them, or there are none."""
    tokenizer = processor.tokenizer
    adds = processor.image_processor is not None and not text.startswith(_begins(tokenizer))
    encoded = tokenizer(text, add_special_tokens=adds, return_offsets_mapping=True)
    ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    length = 1 + max((index for index, (_, end) in enumerate(offsets) if end == len(text)), default=-1)
    starts, ends = ([offset[side] for offset in offsets[:length]] for side in (0, 1))
    return Tokenized(text, ids[:length], starts, ends)


def check_embedded(largest: int, rows: int) -> None:
    """`UserError` where the `largest` token id is one of a tokenizer that has more than its model has `rows`."""
    if largest >= rows:
        raise UserError(f"the text has a token that the model has no embedding for (id {largest})")


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """What sampled tokens say, without special tokens."""
    return tokenizer.decode(token_ids, skip_special_tokens=True)


def decode_reply(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """The text that the server answers."""
    return decode(tokenizer, token_ids).strip()
