"""Accessibility trees cut to a number of tokens, at whole lines."""

import os
from collections.abc import Callable
from pathlib import Path

from common.errors import UserError
from data.conversation import escape_special, shorten_lines


class TreeCutter:
    """Cuts a tree as the model would read it: after long lines were shortened and special tokens broken."""

    def __init__(self, max_tokens: int, ends_of: Callable[[str], list[int]]):
        """`ends_of(text)`: where each of its tokens ends, in characters."""
        self.max_tokens, self._ends_of = max_tokens, ends_of

    @classmethod
    def of(cls, max_tokens: int, tokenizer: str) -> "TreeCutter":
        """`max_tokens` 0 cuts nothing. Raises `UserError` when `tokenizer` is no Hugging Face tokenizer.json."""
        if max_tokens == 0:
            return cls(0, lambda text: [])
        if max_tokens < 0 or not tokenizer:
            raise UserError(f"--max_tree_tokens {max_tokens}: give a positive one and --tokenizer CHECKPOINT")
        path = Path(tokenizer) / "tokenizer.json" if Path(tokenizer).is_dir() else Path(tokenizer)
        if not path.is_file():
            raise UserError(f"--tokenizer {tokenizer}: no tokenizer.json there")
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not survive a fork
        from tokenizers import Tokenizer  # imported here: most conversions need none

        try:
            loaded = Tokenizer.from_file(str(path))
        except Exception as error:  # its errors have no type of their own
            raise UserError(f"{path}: not a readable tokenizer ({error})") from None
        return cls(max_tokens, lambda text: [end for _, end in loaded.encode(text, add_special_tokens=False).offsets])

    def cut(self, tree: str) -> str:
        """The first lines of `tree` that hold at most `max_tokens` tokens; of a first line too long, its beginning."""
        if not self.max_tokens:
            return tree
        text = escape_special(shorten_lines(tree))
        ends = self._ends_of(text)
        if len(ends) <= self.max_tokens:
            return text
        kept = text[: ends[self.max_tokens - 1]]
        if text[len(kept) : len(kept) + 1] == "\n":
            return kept
        return kept.rpartition("\n")[0] or kept
