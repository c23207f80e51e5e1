"""Speculative decoding: what a reply will probably say next, looked up in its prompt and in the replies before it.

An agent copies: titles and labels from the page, its own phrases from the steps before. Where a reply's newest tokens
have been seen before, the tokens that followed there are computed in the same step as the newest one, and are kept as
far as the model draws the same: prompt lookup decoding, which is speculative decoding (arXiv:2211.17192) without a
second model. What a grammar leaves no choice about is drafted, too. Each token is still drawn from the model's own
distribution with the request's own random generator, so drafts change how many steps a reply takes and nothing else.
"""

import numpy as np

from server.engine.sequence import Sequence

_NGRAMS = (3, 2)  # tokens that must agree; three rarely agree by chance
_REMEMBERED = 4096  # tokens of the newest replies


class Drafter:
    """Drafts at most `max_tokens` at a time; fewer for a reply whose last draft was wrong."""

    def __init__(self, max_tokens: int):
        self.max_tokens = max_tokens
        self._replies = np.zeros(0, dtype=np.int64)

    def remember(self, token_ids: list[int]) -> None:
        """A reply is complete: the next ones may say the same."""
        if self.max_tokens:
            self._replies = np.concatenate([self._replies, np.array(token_ids, dtype=np.int64)])[-_REMEMBERED:]

    def draft(self, sequence: Sequence, limit: int) -> list[int]:
        """At most `limit` tokens that may follow the sequence's newest one."""
        length = min(self.max_tokens, 2 * sequence.last_kept + 1, limit)
        length = min(length, sequence.max_new_tokens - len(sequence.token_ids) - 1)
        if length < 1:
            return []
        constraint = sequence.options.constraint
        if constraint is not None:
            return constraint.forced()[:length] or constraint.allowed(self._found(sequence, length))
        return self._found(sequence, length)

    def _found(self, sequence: Sequence, length: int) -> list[int]:
        """What followed where the newest tokens stand, at most `length`."""
        own = np.concatenate([sequence.prompt.keys, np.array(sequence.token_ids, dtype=np.int64)])
        for n in _NGRAMS:
            for text in (own, self._replies):
                found = _continuation(text, own[-n:], length)
                if found:
                    return found
        return []


def _continuation(text: np.ndarray, ngram: np.ndarray, length: int) -> list[int]:
    """The tokens behind the last place where `ngram` stands in `text`, up to an image (whose keys are negative)."""
    last = len(text) - len(ngram)  # a place with something behind it starts before this
    if last < 1:
        return []
    matches = text[:last] == ngram[0]
    for offset in range(1, len(ngram)):
        matches &= text[offset : last + offset] == ngram[offset]
    places = np.flatnonzero(matches)
    if not len(places):
        return []
    begin = int(places[-1]) + len(ngram)
    found = text[begin : begin + length]
    images = np.flatnonzero(found < 0)
    return found[: images[0] if len(images) else length].tolist()
