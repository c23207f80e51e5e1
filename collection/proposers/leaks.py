"""Train/test leaks: a proposed task must neither repeat a test task nor be about what a test task is about."""

import re
from collections.abc import Iterable

from collection.proposers.similarity import Known

MAX_SIMILARITY = 0.8
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')


class TestSplit:
    """The test tasks' instructions and the things they name in quotes; what training tasks name as well (a tab, an
    option, a column) is the site's vocabulary and no leak."""

    __test__ = False  # no test case, whatever pytest thinks of the name

    def __init__(self, test_ques: Iterable[str], train_ques: Iterable[str] = ()):
        test_ques = list(test_ques)
        self._known = Known(test_ques)
        vocabulary = {name for ques in train_ques for name in named_in(ques)}
        self._entities = {name for ques in test_ques for name in named_in(ques)} - vocabulary

    def leak(self, ques: str) -> str:
        """What a proposal has from the test split, or ""."""
        if entities := sorted(named_in(ques) & self._entities):
            return f"names {entities[0]!r} of a test task"
        similarity, other = self._known.nearest(ques)
        return f"{similarity:.2f} like the test task {other!r}" if similarity >= MAX_SIMILARITY else ""


def named_in(ques: str) -> set[str]:
    """What stands in double quotes, in lower case."""
    return {(one or other).strip().lower() for one, other in _QUOTED.findall(ques)}
