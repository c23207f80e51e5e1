"""Speculation: the beginning of an episode's next prompt, known as soon as the reply is.

OpenWebVoyager's conversations rewrite old observations at every step, so the prompt before is no prefix of the next
one. But how they will be rewritten is known: everything up to the next observation can be read while the browser acts.
"""

import re
from collections.abc import Sequence
from typing import Any

from data.conversation import IMAGE, StepText, build_conversation, split_marks

_OBSERVATION = re.compile(r"(?:\A|(?<=\n))OBSERVATION:[ \n]")
_LAST_ACTION = re.compile(r"Action:\s*ANSWER\b")


class NextPrompt:
    """Remembers how many screenshots clients keep, which only a long episode shows; before, what was published."""

    def __init__(self, last_n: int = 3):
        self.last_n = last_n

    def expect(self, turns: Sequence[tuple[str, str]], reply: str) -> tuple[list[dict[str, Any]], list[int]] | None:
        """From the (role, content) turns of a request and its reply: the messages that the next request begins with,
        and which of this request's images (by index) it shows. None where the episode ends or has another form."""
        split = [_split(content) for role, content in turns if role == "user"]
        roles = [role for role, _ in turns]
        if _LAST_ACTION.search(reply) or None in split or roles != ["user", "assistant"] * (len(split) - 1) + ["user"]:
            return None
        replies = [content for role, content in turns if role == "assistant"] + [reply]
        num_shown = sum(IMAGE in content for _, content in turns)
        if num_shown < len(split):
            self.last_n = num_shown
        last_n = max(self.last_n, num_shown)
        before, observed = zip(*split, strict=True)
        ques, *_ = before[0].split("\n", 1)
        feedback = [before[0].removeprefix(ques).strip("\n"), *(prefix.rstrip("\n") for prefix in before[1:])]
        steps = [StepText(*seen) for seen in zip(observed, feedback, replies, strict=True)]
        conversation = build_conversation(ques, [*steps, StepText("")], last_n)
        messages = [{"role": turn.role, "content": split_marks(turn.text)} for turn in conversation.turns]
        messages[-1]["content"] = messages[-1]["content"][:1]  # "OBSERVATION:\n"; what it shows is not known yet
        first_shown = len(split) - num_shown + 1
        return messages, [step - first_shown for step in conversation.image_steps[:-1]]


def _split(content: str) -> tuple[str, str] | None:
    """What a user turn says before its observation, and that without its screenshot; None without one."""
    found = _OBSERVATION.search(content)
    return (content[: found.start()], content[found.end() :].removeprefix(f"{IMAGE}\n")) if found else None
