"""The filters a proposal passes, and the count of what they caught."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collection.judges.asking import ask_verdict
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.verdicts.verdict import FEASIBLE
from collection.proposers import prompts
from collection.proposers.leaks import TestSplit, named_in
from collection.proposers.similarity import Known
from common.errors import UserError
from common.files import parse_json, read_lines
from data.task import Task

Check = Callable[[Task], bool]


@dataclass
class Filters:
    """Duplicates first, as they cost nothing; then leaks; then `checks`, each (name of what it catches, check).

    Of two proposals that name the same things in quotes the second is a duplicate whatever its wording.
    """

    test_split: TestSplit
    max_similarity: float
    known: Known = field(default_factory=Known)
    checks: list[tuple[str, Check]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _named: set[frozenset[str]] = field(default_factory=set)

    def passes(self, task: Task) -> bool:
        """Whether a proposal is kept; it is known from then on."""
        fate = self._fate(task)
        self.counts["proposed"] += 1
        self.counts[fate] += 1
        return fate == "kept"

    def _fate(self, task: Task) -> str:
        named = frozenset(named_in(task.ques))
        if named in self._named or self.known.nearest(task.ques)[0] >= self.max_similarity:
            return "duplicate"
        if self.test_split.leak(task.ques):
            return "test_leak"
        for name, check in self.checks:
            if not check(task):
                return name
        self.known.add(task.ques)
        self._named |= {named} - {frozenset()}
        return "kept"


def model_says_feasible(endpoint: Endpoint, task: Task) -> bool:
    """WebRL's feasibility check: the model's own opinion, from the site's name and the instruction."""
    lines = [prompts.site_line(task.web_name, task.web), *prompts.example_lines([task])]
    return ask_verdict(endpoint, prompts.FEASIBILITY, "\n".join(lines), FEASIBLE).meaning


def critic_window(path: Path, window: tuple[float, float]) -> Check:
    """WebRL's critic filter: keeps instructions with a score within `window`, both ends included."""
    low, high = window
    if not low <= high:
        raise UserError(f"--critic_window {low} {high}: the lower end comes first")
    scores: dict[str, float] = {}
    number = 0
    try:
        for line in read_lines(path):
            number += 1
            fields = parse_json(line)
            scores[fields["ques"]] = float(fields["score"])
    except OSError:
        raise UserError(f"{path}: no such file of critic scores") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f'{path}:{number}: not an object like {{"ques": "...", "score": 0.4}}') from None
    return lambda task: task.ques in scores and low <= scores[task.ques] <= high
