"""What the embedded stand-in for a judging model says: it knows the embedded sites, and reads task, answer and pages.

It stands where GPT-4o stands. It sees no pictures: what was changed on a site it must read from the page's text
(`--eval_trees 1`), and where it is shown none it believes the answer, as such judges are told to.
"""

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from collection.judges import prompts
from common.seeds import draw
from common.stand_in import CannotReplyError, Messages, text_of
from environments.ground_truth import includes, normalize
from environments.sites.content import Content, build
from environments.sites.ground_truth import GroundTruth, ground_truth
from environments.sites.truth import InfeasibleError

_FIELD = re.compile(r'^(TASK|RESULT RESPONSE|PAGE): ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_VERDICTS = {
    True: ("SUCCESS", "**Verdict: SUCCESS**", "Verdict: SUCCESS.", "SUCCESS"),
    False: ("NOT SUCCESS", "**Verdict: NOT SUCCESS**", "Verdict: UNSUCCESSFUL", "NOT SUCCESS"),
}
_NOTICES = {"votes": "Vote counted", "replies": "Reply posted", "bookings": "Seat booked", "cart": "Added to the cart"}


@functools.cache
def _content() -> Content:
    return build(0)


def reply(messages: Messages, seed: int, error_rate: float = 0.0) -> str:
    """The judge's reply; a share `error_rate` of the cases, always the same ones, it judges wrongly."""
    system, case = text_of(messages[0]), text_of(messages[-1])
    if system.startswith(prompts.FUZZY_MATCH[:20]):
        return _grade(case)
    if system.startswith(prompts.UNACHIEVABLE_MATCH[:20]):
        return "[same]" if "cannot" in case.lower().rpartition("report:")[2] else "[different]"
    fields = _FIELD.findall(case)
    task = next((json.loads(value) for name, value in fields if name == "TASK"), None)
    if task is None:
        raise CannotReplyError("no line 'TASK: \"...\"'")
    response = next((json.loads(value) for name, value in fields if name == "RESULT RESPONSE"), "")
    pages = [json.loads(value) for name, value in fields if name == "PAGE"]
    try:
        truth = ground_truth(_content(), task)
    except InfeasibleError as error:
        raise CannotReplyError(f"the stand-in judge knows only the embedded sites' tasks: {error}") from None
    right, why = _judge(truth, response, pages)
    if draw(task, response, *pages) < error_rate:
        right, why = not right, "On reflection I see it otherwise."
    if "Status:" in system:
        return f"The screen should show that the task is done. {why}\nStatus: {'success' if right else 'failure'}"
    return f"{why}\n\n{_VERDICTS[right][int(4 * draw(task, response, str(seed)))]}"


def _judge(truth: GroundTruth, response: str, pages: Sequence[str]) -> tuple[bool, str]:
    """(whether it was done, why)."""
    if "string_match" in truth.eval["eval_types"]:
        return _judge_answer(truth.eval["reference_answers"], response)
    if not pages:
        return bool(response), "The screenshots say nothing against the response."
    return _judge_change(truth.eval["site_state"], pages[-1])


def _judge_answer(expected: dict[str, Any], response: str) -> tuple[bool, str]:
    answer = normalize(response)
    if "exact_match" in expected:
        right = answer == normalize(expected["exact_match"])
    else:
        right = all(includes(answer, normalize(value)) for value in expected["must_include"])
    return right, "The page and the response agree." if right else f"The page does not say {response!r}."


def _judge_change(state: dict[str, Any], page: str) -> tuple[bool, str]:
    """Whether the last page shows the change: its notice, and every value of the state."""
    text = " ".join(page.split())
    for name, items in state.items():
        if items and _NOTICES[name] not in page:
            return False, f"The last page does not say '{_NOTICES[name]}'."
        for item in items:
            values = [item] if isinstance(item, str) else [str(value) for value in item.values()]
            if missing := [value for value in values if value not in text]:
                return False, f"The last page does not show {missing[0]!r}."
    return True, "The last page shows what was asked for."


def _grade(case: str) -> str:
    """WebArena's fuzzy match: correct when every word of the reference is in the answer."""
    reference, answer = (
        set(re.findall(r"\w+", re.search(rf"{label}: (.*)", case)[1].lower()))
        for label in ("Reference answer", "Student's answer")
    )
    return "correct" if reference <= answer else ("partially correct" if reference & answer else "incorrect")
