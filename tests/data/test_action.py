"""The action grammar: what agents really write, and the traps the published parser fell into."""

import time

import pytest

from data.actions.action import (
    CANNOT_EXECUTE,
    FORMAT_ERROR,
    ActionError,
    Answer,
    Click,
    GoBack,
    Restart,
    Scroll,
    Type,
    Wait,
    action_text,
    parse_reply,
    thought_text,
)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("Click [3]", Click(3)),
        ("Click 3", Click(3)),
        ("Type [6]; KNTPLC", Type(6, "KNTPLC")),
        ("Type [6]; [red shoes]", Type(6, "red shoes")),
        ("Type [6]; foo [bar] baz", Type(6, "foo [bar] baz")),
        ("Type [6]; [a] and [b]", Type(6, "[a] and [b]")),
        ("Scroll [WINDOW]; down", Scroll(None, "down")),
        ("Scroll WINDOW; [up]", Scroll(None, "up")),
        ("Scroll [7]; Down", Scroll(7, "down")),
        ("Wait", Wait()),
        ("GoBack", GoBack()),
        ("Restart", Restart()),
        ("Google", Restart()),
        ("ANSWER; 24.50 EUR", Answer("24.50 EUR")),
        ("ANSWER; The list is [1,2,3] and more", Answer("The list is [1,2,3] and more")),
        ("ANSWER; Type 2 diabetes; treat", Answer("Type 2 diabetes; treat")),
        ("ANSWER; done, then Click 5", Answer("done, then Click 5")),
        ("ANSWER; two\nlines", Answer("two\nlines")),
    ],
)
def test_actions(action, expected):
    assert parse_reply(f"Thought: I see.\n\nAction: {action}").action == expected


def test_thought_is_kept_and_words_in_it_are_no_action():
    reply = parse_reply("Thought: The Action: menu says Click [9], not yet.\n\nAction: Click [4]\n")
    assert reply.action == Click(4)
    assert reply.thought == "The Action: menu says Click [9], not yet."


def test_long_replies_are_told_at_once():
    begun = time.process_time()
    assert thought_text("Thought: a" + "\n" * 20_000 + "b\n\nAction: Wait").endswith("\nb")
    assert action_text("x" + "\n" * 20_000 + "y") == "x y"
    assert action_text("Thought: Action: no.\n \t Action:\n Click [4]\n") == "Click [4]"
    assert thought_text("Click [4]") is None and time.process_time() - begun < 1


def test_what_a_model_dreams_up_after_its_action_is_dropped():
    assert parse_reply("Thought: a\nAction: Click [4]\nObservation: a new page\nThought: b").action == Click(4)


@pytest.mark.parametrize(
    "text", ["", "Click [3]", "Thought: only", "Action: Click [3]", "Action: Click [3]\nThought: late"]
)
def test_missing_parts_are_a_format_error(text):
    with pytest.raises(ActionError) as error:
        parse_reply(text)
    assert str(error.value) == FORMAT_ERROR


@pytest.mark.parametrize(
    "action",
    [
        "",
        "Hover [3]",
        "Click [x]",
        "Click [3] and [4]",
        f"Click [{'1' * 5000}]",
        f"Scroll [{'1' * 5000}]; up",
        "Type [3]",
        "Scroll [3]; left",
        "ANSWER;",
    ],
)
def test_unknown_actions_cannot_be_executed(action):
    with pytest.raises(ActionError) as error:
        parse_reply(f"Thought: t\n\nAction: {action}")
    assert str(error.value) == CANNOT_EXECUTE
