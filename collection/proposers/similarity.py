"""How alike two instructions are: cosine of their words, weighted by how rare each word is among all that is known.

The rare words are what a task is about, so "find the price of A" and "find the price of B" are not alike, and two
wordings of one question are. OpenWebVoyager compares sentence embeddings, for which this needs no model.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
_EMPTY = frozenset(  # words that ask politely or hold a sentence together
    "a an and are as at be by can could do for from give had has have i in into is it its me my of on one please site "
    "tell that the their then there they this to want was were what which will with would you your".split()
)


class Known:
    """Instructions that new ones are compared with; `add` grows them. An index by word keeps a look-up short."""

    def __init__(self, ques: Iterable[str] = ()):
        self._vectors: list[tuple[str, Counter[str]]] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for instruction in ques:
            self.add(instruction)

    def add(self, ques: str) -> None:
        """Remember an instruction."""
        words = Counter(_words(ques))
        for word in words:
            self._places[word].append(len(self._vectors))
        self._vectors.append((ques, words))

    def nearest(self, ques: str) -> tuple[float, str]:
        """(similarity from 0 to 1, the most similar instruction); (0, "") when nothing is known."""
        words = Counter(_words(ques))
        candidates = {place for word in words for place in self._places.get(word, ())}
        best = max(candidates, key=lambda place: self._cosine(words, self._vectors[place][1]), default=None)
        if best is None:
            return 0.0, ""
        return self._cosine(words, self._vectors[best][1]), self._vectors[best][0]

    def _cosine(self, one: Counter[str], other: Counter[str]) -> float:
        dot = sum(count * other[word] * self._weight(word) ** 2 for word, count in one.items())
        return dot / math.sqrt(self._square(one) * self._square(other)) if dot else 0.0

    def _square(self, words: Counter[str]) -> float:
        return sum((count * self._weight(word)) ** 2 for word, count in words.items())

    def _weight(self, word: str) -> float:
        """Inverse document frequency, never 0: also the commonest word tells two tasks apart a little."""
        return math.log((2 + len(self._vectors)) / (1 + max(1, len(self._places.get(word, ()))))) + 0.1


def _words(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [word for word in words if word not in _EMPTY] or words
