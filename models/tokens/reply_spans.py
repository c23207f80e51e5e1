"""Where a reply stands in a rendered conversation, proven against the whole text: no other word is ever learned."""

import itertools
from collections.abc import Collection
from typing import Any

from common.errors import UserError
from models.text import Tokenized

_SHOWN = 60
"""Characters of what a template wrote, in a message."""

Span = tuple[int, int]
"""Its first character, and the one behind its last."""


def reply_span(whole: str, prompt: str, reply: str, end: str, is_last: bool, special: Collection[str]) -> Span:
    """From where the prompt of a reply ends, in `whole`, over the reply to the end that the template writes there.

    Args:
        prompt: what a server shows the model before this reply.
        end: what ends a last reply. One in the middle has of it what the template writes, be it nothing.
        special: the tokenizer's special tokens.

    Raises:
        UserError: the template does not write the reply as it is, right behind its prompt.
    """
    if not whole.startswith(prompt):
        raise UserError("the chat template writes the prompt of a reply differently once it is answered")
    begin = _behind_space(whole, len(prompt))
    if not whole.startswith(reply.strip(), begin):
        wrote = whole[begin : begin + _SHOWN]
        raise UserError(
            f"the chat template writes {wrote!r} where {reply.strip()[:_SHOWN]!r} is to be learned; a reply must "
            "stand as it is, right behind what the template writes for add_generation_prompt"
        )
    behind = begin + len(reply.strip())
    if not is_last:
        return len(prompt), _end_in_the_middle(whole, behind, end, special)
    if whole[behind:].strip() != end:
        raise UserError(f"the chat template writes {whole[behind:].strip()[:_SHOWN]!r} behind the reply, not {end!r}")
    return len(prompt), len(whole)


def mask_of(tokenizer: Any, rendered: Tokenized, spans: Collection[Span]) -> list[bool]:
    """[tokens]: which of them are of `spans`.

    Raises:
        UserError: a token is of a reply and of other words, or the tokens of a span do not say its text.
    """
    mask = [False] * len(rendered.ids)
    for first, last in spans:
        inside = []
        for index, (start, end) in enumerate(zip(rendered.starts, rendered.ends, strict=True)):
            if start >= last or end <= first or start == end:
                continue
            before, beyond = rendered.text[start:first], rendered.text[last:end]
            if start < first and not rendered.text[first:end].strip():
                continue  # white space that a tokenizer joins with the prompt's own
            if before or beyond.strip():
                raise UserError(
                    f"the tokenizer makes one token of {rendered.text[start:end]!r}, of which a part is a reply's; "
                    "the chat template must keep them apart"
                )
            inside.append(index)
        for index in inside:
            mask[index] = True
        _check_says(tokenizer, [rendered.ids[index] for index in inside], rendered.text[first:last])
    return mask


def _end_in_the_middle(whole: str, behind: int, end: str, special: Collection[str]) -> int:
    """Where the end that a template writes behind a reply in the middle is over: all of `end`, or its first tokens."""
    start = _behind_space(whole, behind)
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(whole[start:], end, strict=False))
    common = "".join(character for character, _ in pairs).rstrip()
    if common and (common == end or common.endswith(tuple(special))):
        return start + len(common)
    return behind


def _behind_space(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip())


def _check_says(tokenizer: Any, token_ids: list[int], text: str) -> None:
    """White space does not count: sentencepiece's decoders leave out the first, others clean it up."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    meant = normalizer.normalize_str(text) if normalizer else text
    said = tokenizer.decode(token_ids, skip_special_tokens=False)
    if _bare(said) != _bare(meant):
        raise UserError(f"the tokenizer reads the reply {text[:_SHOWN]!r} as {said[:_SHOWN]!r}")


def _bare(text: str) -> str:
    return "".join(text.replace("\u2581", "").split())
