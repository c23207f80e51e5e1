"""WebArena's evaluators over a kept trajectory: `string_match`, `url_match`, `program_html`. All named must hold.

What `program_html` looks at was read from the browser at the end of the trajectory and lies in `final_pages.json`
(`environments/webarena/final_pages.py`), so judging needs neither browser nor sites. Source: WebArena's
`evaluation_harness` (arXiv 2307.13854); programs in task files are looked up in a table, never run.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collection.judges.asking import ask_verdict
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.verdicts.comparing import OR, Rules, clean, includes, leads_to
from collection.judges.verdicts.fence import fenced
from collection.judges.verdicts.prompts import FUZZY_MATCH, UNACHIEVABLE_MATCH
from collection.judges.verdicts.verdict import GRADE, REASON, VerdictForm
from common.errors import UserError
from common.files import read_json
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import Trajectory, read_trajectory
from environments.ground_truth import check_state

NAME = "webarena"


@dataclass(frozen=True)
class WebArenaJudge:
    """`endpoint` is asked for fuzzy matches only; None refuses tasks that need one. `rules`: how answers and addresses
    are compared."""

    endpoint: Endpoint | None = None
    rules: Rules = "whole"
    name: str = NAME

    def __call__(self, task: Task, folder: Path) -> Outcome:
        """Success when every evaluator in `task.eval` holds; an agent that did not answer has answered nothing.

        Raises:
            UserError: the task has no ground truth, or one that WebArena does not define.
            JudgeFault: the endpoint gave no answer.
        """
        checks = self._checks(task)
        trajectory = read_trajectory(folder)
        if (ended := trajectory.ended_by_others) is not None:
            return ended
        for check in checks:
            if complaint := check(task, trajectory):
                return Outcome(Verdict.FAILURE, complaint, self.name)
        return Outcome(Verdict.SUCCESS, "", self.name)

    def _checks(self, task: Task) -> list[Callable[[Task, Trajectory], str]]:
        known = {
            "string_match": self._check_answer,
            "url_match": lambda task, trajectory: check_url(task, trajectory, self.rules),
            "program_html": check_pages,
            "site_state": lambda task, trajectory: check_state(task, trajectory.final_state()),
        }
        types = task.truth.get("eval_types", [])
        if not types:
            raise UserError(
                f"task {task.id} has no ground truth (eval.eval_types); WebArena's evaluators cannot judge it"
            )
        if unknown := [name for name in types if name not in known]:
            raise UserError(f"task {task.id}: WebArena has no evaluator {unknown[0]!r}")
        return [known[name] for name in types]

    def _check_answer(self, task: Task, trajectory: Trajectory) -> str:
        answer = clean(trajectory.answer or "")
        for kind, expected in task.truth["reference_answers"].items():
            if kind == "exact_match":
                held = answer == clean(expected)
            elif kind == "must_include":
                held = all(includes(answer, value, len(expected) == 1, self.rules) for value in expected)
            elif kind == "fuzzy_match":
                held = self._matches(task, answer, expected)
            else:
                raise UserError(f"task {task.id}: WebArena has no reference answer {kind!r}")
            if not held:
                return f"answered {trajectory.answer!r}, expected {kind} {expected!r}"
        return ""

    def _matches(self, task: Task, answer: str, expected: Any) -> bool:
        if expected == "N/A":
            return answer == "n/a" or self._same_reason(task, answer)
        references = [expected] if isinstance(expected, str) else expected
        return bool(answer) and all(self._equivalent(task, answer, reference) for reference in references)

    def _equivalent(self, task: Task, answer: str, reference: str) -> bool:
        if clean(reference) == answer:
            return True
        case = [
            fenced("QUESTION", task.ques),
            fenced("REFERENCE ANSWER", reference),
            fenced("STUDENT'S ANSWER", answer),
        ]
        return self._ask(task, FUZZY_MATCH, case, GRADE)

    def _same_reason(self, task: Task, answer: str) -> bool:
        reason = task.truth.get("string_note", "")
        case = [fenced("TASK", task.ques), fenced("KNOWN REASON", reason), fenced("REPORT", answer)]
        return bool(answer) and self._ask(task, UNACHIEVABLE_MATCH, case, REASON)

    def _ask(self, task: Task, prompt: str, case: list[str], form: VerdictForm) -> bool:
        if self.endpoint is None:
            raise UserError(f"task {task.id} has a fuzzy answer, which a model must judge: give --api_eval_model")
        return ask_verdict(self.endpoint, prompt, "\n".join(case), form).meaning


def check_url(task: Task, trajectory: Trajectory, rules: Rules = "whole") -> str:
    """`url_match` with the rule GOLD in PRED: path contained, each named query parameter present."""
    rule = task.truth.get("url_note", "GOLD in PRED")
    if rule != "GOLD in PRED":
        raise UserError(f"task {task.id}: WebArena has no url rule {rule!r}")
    url, expected = trajectory.final_url(), task.truth["reference_url"]
    return "" if leads_to(url, expected, rules) else f"ended on {url}, expected {expected}"


def check_pages(task: Task, trajectory: Trajectory) -> str:
    """`program_html` on what was read from the pages at the end."""
    path = trajectory.folder / "final_pages.json"
    if not path.exists():
        raise ValueError(f"{path}: missing, the pages' contents were not kept at the end of the trajectory")
    for target, content in zip(task.truth["program_html"], read_json(path), strict=True):
        found = clean(html.unescape(content))
        for kind, expected in target["required_contents"].items():
            if kind == "exact_match":
                held = found == clean(expected)
            elif kind == "must_include":
                held = all(any(clean(value) in found for value in either.split(OR)) for either in expected)
            else:
                raise UserError(f"task {task.id}: WebArena has no required content {kind!r}")
            if not held:
                return f"{target['url']} does not hold {kind} {expected!r}"
    return ""
