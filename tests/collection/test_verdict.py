"""Verdicts: the table of hard cases. None means: not readable, ask again, and never a failure of the agent."""

import pytest

from collection.judges.verdict import parse_choice, parse_grade, parse_status, parse_verdict
from data.outcome import Verdict

YES, NO = Verdict.SUCCESS, Verdict.FAILURE

HARD_CASES = [  # (what the judge wrote, what it says)
    ("SUCCESS", YES),
    ("NOT SUCCESS", NO),
    ("The price is on the last screenshot.\n\nSUCCESS", YES),
    ("The price is nowhere to be seen.\n\nNOT SUCCESS", NO),
    ("Verdict: SUCCESS", YES),
    ("**Verdict: NOT SUCCESS**", NO),
    ("### Verdict\n**SUCCESS**.", YES),
    ("`NOT_SUCCESS`", NO),
    ("NOT-SUCCESS", NO),
    ("Not  Success", NO),
    ("NOTSUCCESS", NO),
    ("NON-SUCCESS", NO),
    ("UNSUCCESSFUL", NO),
    ("The attempt was UNSUCCESSFUL.", NO),
    ("NOT A SUCCESS", NO),
    ("The result is NOT a SUCCESS.", NO),
    ("This isn't a SUCCESS.", NO),
    ("This cannot be considered a SUCCESS.", NO),
    ("I would not call this a SUCCESS.", None),
    ("It can never count as SUCCESS.", NO),
    ("NO SUCCESS", NO),
    ("Neither part is a SUCCESS.", NO),
    ("SUCCESSFUL", YES),
    ("The task was completed successfully.", None),
    ("The agent successfully opened the page, but booked another train. NOT SUCCESS", NO),
    ("It would be a SUCCESS only if the date matched.", None),
    ("If the colour were red, SUCCESS.", None),
    ("SUCCESS or NOT SUCCESS?", None),
    ("Whether this is a SUCCESS cannot be told.", None),
    ("The SUCCESS criteria are not met.", None),
    ("The page shows a SUCCESS message, yet the cart is empty.\nNOT SUCCESS", NO),
    ('The page says "SUCCESS! Thank you".', None),
    ("The banner reads 'NOT SUCCESSFUL', for another user.\nFinal verdict: SUCCESS", YES),
    ("SUCCESS for the first part. NOT SUCCESS for the second.", None),
    ("NOT SUCCESS at first sight. Looking again, SUCCESS.", None),
    ("NOT SUCCESS at first sight, but look again.\nVerdict: SUCCESS", YES),
    ("success", YES),
    ("Verdict: success.", YES),
    ("The answer is on the page, so this is a success.", YES),
    ("The answer is not on the page, so the task was not successful.", NO),
    ("FAILURE", NO),
    ("Verdict: failed", NO),
    ("NOT A FAILURE", YES),
    ("This was FAILED by the agent.", NO),
    ('{"success": false}', NO),
    ('{"success": true}', YES),
    ("SUCCESS: NO", NO),
    ("SUCCESS = True", YES),
    ("", None),
    ("   \n", None),
    ("I'm sorry, I can't assist with that.", None),
    ("<html><body>502 Bad Gateway</body></html>", None),
    ("Let me look at the screenshots one by one. The first shows", None),
    ("Your verdict:", None),
    ("成功", None),
    ("SUC CESS", None),
    ("The rate of success is high", None),
]


@pytest.mark.parametrize(("text", "verdict"), HARD_CASES)
def test_hard_cases(text, verdict):
    assert parse_verdict(text) is verdict


def test_the_published_parsers_get_half_of_them_wrong():
    def published(text):  # OpenWebVoyager's and PAE's
        return NO if "NOT SUCCESS" in text or "SUCCESS" not in text else YES

    wrong = [text for text, verdict in HARD_CASES if published(text) is not verdict]
    false_successes = [text for text, verdict in HARD_CASES if published(text) is YES and verdict is not YES]
    print(f"{len(HARD_CASES)} hard cases: published wrong on {len(wrong)}, {len(false_successes)} as false success")
    assert len(wrong) > len(HARD_CASES) / 2


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Q: ...\nA: the cart.\nStatus: success", YES),
        ("**Status:** failure", NO),
        ("status : Success.", YES),
        ("Status: unsuccessful", None),  # success in the published code
        ("Status: not success", None),  # success there
        ("Status: failure\nOn second thought\nStatus: success", YES),
        ("success", None),
        ("", None),
    ],
)
def test_status_of_the_step_judge(text, verdict):
    assert parse_status(text) is verdict


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("correct", True),
        ("Incorrect.", False),
        ("It is partially correct", False),
        ("not correct", False),
        ("The reference is correct; the student's answer is incorrect", False),
        ("unsure", None),
        ("", None),
    ],
)
def test_grades_of_fuzzy_match(text, right):
    assert parse_grade(text) is right


@pytest.mark.parametrize(
    ("text", "choice"),
    [("[YES]", True), ("reasons... [no]", False), ("[YES] or [NO]", None), ("No.", False), ("knows", None), ("", None)],
)
def test_choices(text, choice):
    assert parse_choice(text, "yes", "no") is choice
