"""Token text: what one token says, in bytes; a character may be spread over several tokens."""

import functools
import re
from collections.abc import Mapping
from typing import Any

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def token_bytes(tokenizer: Any, token_id: int) -> bytes:
    """The bytes that a token adds to a text. SentencePiece's also have the space that a text's first token loses; a
    special token stands for what it is called; an id without a token for nothing."""
    return _bytes(tokenizer, tokenizer.added_tokens_decoder, token_id)


def vocabulary(tokenizer: Any, size: int) -> list[bytes]:
    """`token_bytes` of the first `size` token ids."""
    added = tokenizer.added_tokens_decoder
    return [_bytes(tokenizer, added, token_id) for token_id in range(size)]


def _bytes(tokenizer: Any, all_added: Mapping[int, Any], token_id: int) -> bytes:
    added = all_added.get(token_id)
    if added is not None:
        return added.content.encode()
    token = tokenizer.convert_ids_to_tokens(token_id)
    if token is None:
        return b""
    if _is_byte_level(tokenizer):
        alphabet = _byte_of_character()
        return b"".join(bytes([alphabet[c]]) if c in alphabet else c.encode() for c in token)
    if found := _BYTE.fullmatch(token):
        return bytes.fromhex(found[1])
    return token.replace("▁", " ").encode()


@functools.lru_cache(maxsize=8)
def _is_byte_level(tokenizer: Any) -> bool:
    return b"ByteLevel" in tokenizer.backend_tokenizer.decoder.__getstate__()


@functools.cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's alphabet: a printable byte is its own character, the others are those from 256 on, in order."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(hidden)}
