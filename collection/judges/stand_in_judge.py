"""What the embedded stand-in for a judging model says: it knows the embedded sites, and reads task, answer and pages.

It stands where GPT-4o stands. It sees no pictures: what was changed on a site it must read from the page's text
(`--eval_trees 1`), and where it is shown none it believes the answer, as such judges are told to.
"""

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from collection.judges.verdicts import prompts
from collection.judges.verdicts.fence import unfenced
from collection.judges.verdicts.verdict import GRADE, REASON, STATUS, VERDICT, VerdictForm
from common.network.stand_in import CannotReplyError, Messages, text_of
from common.seeds import draw
from environments.ground_truth import includes, normalize
from environments.sites.content import Content, build
from environments.sites.ground_truth import GroundTruth, ground_truth
from environments.sites.truth import InfeasibleError

_LINES = ("{}", "**Verdict: {}**", "Verdict: {}.", "{}")
_NOTICES = {"votes": "Vote counted", "replies": "Reply posted", "bookings": "Seat booked", "cart": "Added to the cart"}


@functools.cache
def _content() -> Content:
    return build(0)


def reply(messages: Messages, seed: int, error_rate: float = 0.0) -> str:
    """The judge's reply; a share `error_rate` of the cases, always the same ones, it judges wrongly."""
    system, case = text_of(messages[0]), text_of(messages[1])
    fields = dict(unfenced(case))
    if system.startswith(prompts.FUZZY_MATCH[:20]):
        return said(messages, GRADE, _grade(fields), "The meaning was compared.")
    if system.startswith(prompts.UNACHIEVABLE_MATCH[:20]):
        same = "cannot" in fields["REPORT"].lower()
        return said(messages, REASON, "same" if same else "different", "The reasons were compared.")
    if prompts.TASK not in fields:
        raise CannotReplyError(f"no line '{prompts.TASK}:' with the task behind a fence below it")
    task, response = fields[prompts.TASK], fields.get(prompts.RESPONSE, "")
    pages = [text for label, text in unfenced(case) if label == prompts.PAGE]
    try:
        truth = ground_truth(_content(), task)
    except InfeasibleError as error:
        raise CannotReplyError(f"the stand-in judge knows only the embedded sites' tasks: {error}") from None
    right, why = _judge(truth, response, pages)
    if draw(task, response, *pages) < error_rate:
        right, why = not right, "On reflection I see it otherwise."
    if system.startswith(prompts.DIGIRL[:20]):
        return said(messages, STATUS, "success" if right else "failure", f"The task should be seen as done. {why}")
    line = _LINES[int(4 * draw(task, response, str(seed)))]
    return said(messages, VERDICT, "SUCCESS" if right else "NOT SUCCESS", why, line)


def said(messages: Messages, form: VerdictForm, word: str, why: str, line: str = "{}") -> str:
    """A reply that ends as its prompt demands, or is the verdict alone when that is asked for."""
    asked_again = len(messages) > 2
    if '"verdict"' in text_of(messages[-1] if asked_again else messages[0]):
        return json.dumps({"verdict": word} if asked_again else {"reasoning": why, "verdict": word})
    verdict = line.format(form.line.format(word))
    return verdict if asked_again else f"{why}\n\n{verdict}"


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


def _grade(fields: dict[str, str]) -> str:
    """WebArena's fuzzy match: correct when every word of the reference is in the answer."""
    reference, answer = (
        set(re.findall(r"\w+", fields[label].lower())) for label in ("REFERENCE ANSWER", "STUDENT'S ANSWER")
    )
    return "correct" if reference <= answer else ("partially correct" if reference & answer else "incorrect")
