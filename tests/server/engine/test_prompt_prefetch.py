"""What an episode's next request begins with, from the turns alone."""

import pytest

from data.conversation import StepText, build_conversation
from server.engine.prompt_prefetch import NextPrompt

REPLY = "Thought: I look.\n\nAction: Click [3]"
FEEDBACK = "Format ERROR: Both 'Thought' and 'Action' should be included in your reply."


def turns_at(step: int, last_n: int, feedback: str = "", page: str = "[1] page {}") -> list[tuple[str, str]]:
    said = {2: feedback}
    seen = [StepText(page.format(number), said.get(number, ""), REPLY) for number in range(1, step)]
    newest = StepText(page.format(step), said.get(step, ""))
    conversation = build_conversation("Find it.", [*seen, newest], last_n)
    return [(turn.role, turn.text) for turn in conversation.turns]


def text_of(message: dict) -> str:
    return "".join(part.get("text", "<image>") for part in message["content"])


@pytest.mark.parametrize("last_n", [1, 2, 3])
@pytest.mark.parametrize("feedback", ["", FEEDBACK])
@pytest.mark.parametrize("page", ["[1] page {}", "The screen measures 9x9 pixels. Tabs:\n0, in front: http://x/{}"])
def test_what_is_expected_is_what_comes(last_n: int, feedback: str, page: str) -> None:
    """At points a screen's text stays as long as its screenshot."""
    expecting = NextPrompt(last_n)
    for step in range(1, 7):
        messages, shown = expecting.expect(turns_at(step, last_n, feedback, page), REPLY)
        actual = turns_at(step + 1, last_n, feedback, page)
        assert [(one["role"], text_of(one)) for one in messages[:-1]] == actual[:-1]
        assert actual[-1][1].removeprefix(f"{feedback}\n" if step == 1 else "").startswith(text_of(messages[-1]))
        first_now, first_next = max(1, step - last_n + 1), max(1, step - last_n + 2)
        assert shown == [number - first_now for number in range(first_next, step + 1)]


def test_how_many_screenshots_clients_keep_is_remembered() -> None:
    expecting = NextPrompt(last_n=3)
    expecting.expect(turns_at(3, 1), REPLY)
    messages, shown = expecting.expect(turns_at(1, 1), REPLY)
    assert shown == [] and text_of(messages[0]) == turns_at(2, 1)[0][1]


def test_nothing_is_expected_of_other_conversations() -> None:
    expecting = NextPrompt()
    assert expecting.expect(turns_at(2, 3), "Thought: done.\n\nAction: ANSWER; 3") is None
    assert expecting.expect([("user", "no such form")], REPLY) is None
    assert expecting.expect([("system", "x"), *turns_at(2, 3)], REPLY) is None
    assert expecting.expect([], REPLY) is None
