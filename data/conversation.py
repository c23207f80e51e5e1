"""Conversation: the one function that turns a trajectory into what a model reads, in collection, toolkits and training.

`build_conversation` is the form OpenWebVoyager's models are trained on and served with (no system prompt, newest tree
only, newest `last_n` screenshots); `build_chat` is the form a general chat model such as GPT-4o gets as teacher.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from data.actions.screen import OPENING
from data.observation import Shown

IMAGE = "<image>"
MAX_LINE_WORDS = 500

_SPECIAL = re.compile(  # of every served family; `<|word|>` is how Qwen and Llama spell theirs
    r"<(?=/?(?:image|end_of_utterance|fake_token_around_image|global-img|row_\d+_col_\d+|s)>|\|\w+\|>)"
)
_OMITTED_TREE = f"OBSERVATION: {IMAGE} (accessibility tree omitted)."
_GIVEN_MARKS = "The tag names and texts of the numbered elements stand below; trust the screenshot first."
_OMITTED_ALL = "OBSERVATION: screenshot omitted, accessibility tree omitted."


@dataclasses.dataclass(frozen=True)
class StepText:
    """What one step shows and what the agent said: `feedback` is the error sentence about the action before, or "".

    `notes` are truths about the action before that only chat models read (typing into a non-textbox, a PDF's text).
    `reply` is None for the step that is still to be answered.
    """

    tree: str
    feedback: str = ""
    reply: str | None = None
    notes: str = ""


@dataclasses.dataclass(frozen=True)
class Turn:
    """One message; user text holds one `<image>` per screenshot shown."""

    role: str
    text: str


@dataclasses.dataclass(frozen=True)
class Conversation:
    """`image_steps` are the 1-based steps whose screenshots fill the `<image>` marks, in order."""

    turns: list[Turn]
    image_steps: list[int]


def build_conversation(ques: str, steps: Sequence[StepText], last_n: int = 3) -> Conversation:
    """The model's turns at the last of `steps`.

    The newest observation keeps its tree and screenshot, the `last_n - 1` before it only their screenshots, older ones
    nothing; with `last_n` 0 no screenshot is shown at all. Replies are kept whole. Source: OpenWebVoyager,
    `utils_localhost.py` (`omit_history_last_n_steps`).

    What an agent at points reads in a tree's place (`data.actions.screen.screen_text`) is short and stays as long as
    its screenshot: as many turns as have all their screenshots are the beginning of the next step's.
    """
    turns = []
    newest = len(steps)
    for number, step in enumerate(steps, start=1):
        turns.append(Turn("user", _prefix(ques, number, step) + _observation(step, age=newest - number, last_n=last_n)))
        if step.reply is not None:
            turns.append(Turn("assistant", escape_special(step.reply)))
    return Conversation(turns, list(range(max(1, newest - last_n + 1), newest + 1)))


def _prefix(ques: str, number: int, step: StepText) -> str:
    feedback = f"{escape_special(step.feedback)}\n" if step.feedback else ""  # at points it quotes the page
    return f"{escape_special(ques)}\n{feedback}" if number == 1 else feedback


def _observation(step: StepText, age: int, last_n: int) -> str:
    if age == 0 or (age < last_n and step.tree.startswith(OPENING)):
        screenshot = f"{IMAGE}\n" if last_n else ""
        return f"OBSERVATION:\n{screenshot}{escape_special(shorten_lines(step.tree))}"
    return _OMITTED_TREE if age < last_n else _OMITTED_ALL


def shorten_lines(tree: str, max_words: int = MAX_LINE_WORDS) -> str:
    """Cut each tree line of more than `max_words` words to its first ones (such a line loses its indentation)."""
    lines = tree.split("\n")
    for number, line in enumerate(lines):
        if len(line) > 2 * max_words:  # more words than that have no room in fewer characters
            words = line.split()
            lines[number] = line if len(words) <= max_words else " ".join(words[:max_words])
    return "\n".join(lines)


def escape_special(text: str) -> str:
    """Page text that spells a special token, such as `<image>`, must not become one: a space breaks it."""
    return _SPECIAL.sub("< ", text)


def split_marks(text: str) -> list[dict[str, str]]:
    """`text` cut at its `<image>` marks into the parts that chat templates take: {"type": "text", "text"} and
    {"type": "image"}."""
    parts = [part for part in re.split(f"({IMAGE})", text) if part]
    return [{"type": "image"} if part == IMAGE else {"type": "text", "text": part} for part in parts]


def build_chat(
    system_prompt: str, ques: str, web: str, steps: Sequence[StepText], last_n: int = 3, shown: Shown = "tree"
) -> list[dict[str, Any]]:
    """OpenAI-style messages at the last of `steps`; a screenshot is `{"type": "image_url", "step": <1-based number>}`,
    whose `image_url` the caller fills. The newest `last_n` observations stay whole, older ones lose screenshot and
    tree. What stands in the trees is `shown`; feedback on actions at points is kept. Source: WebVoyager,
    `clip_message_and_obs`.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": system_prompt}]
    newest = len(steps)
    for number, step in enumerate(steps, start=1):
        opening, request = _chat_opening(ques, web, number, step, shown)
        if newest - number < last_n:
            content = [
                {
                    "type": "text",
                    "text": f"{opening}{request}\n{step.tree}" + ("\nScreenshot:\n" if shown == "tree" else ""),
                },
                {"type": "image_url", "step": number},
            ]
            messages.append({"role": "user", "content": content})
        else:
            messages.append(
                {"role": "user", "content": f"{opening}Observation: A screenshot and some texts. (Omitted in context.)"}
            )
        if step.reply is not None:
            messages.append({"role": "assistant", "content": step.reply})
    return messages


def _chat_opening(ques: str, web: str, number: int, step: StepText, view: Shown) -> tuple[str, str]:
    """(text kept for ever, text kept while the observation is). Judges find the task by these markers."""
    if view == "screen":
        task = f"Now given a task: {ques}  Please interact with {web} and get the answer. \n" if number == 1 else ""
        said = f"{step.feedback}\n" if step.feedback else ""
        return task + said, "Observation: the page as it is now."
    marks = view == "marks"
    shown = "attached screenshot" if marks else "attached accessibility tree & screenshot"
    given = _GIVEN_MARKS if marks else "I've provided the Accessibility Tree and Screenshot."
    if number == 1:
        opening = f"Now given a task: {ques}  Please interact with {web} and get the answer. \n"
        return opening, f"Observation: please analyze the {shown} and give the Thought and Action. {given}"
    said = " ".join(filter(None, [step.feedback, step.notes]))
    if marks:
        return "", f"Observation:{said} please analyze the {shown} and give the Thought and Action. {given}"
    shown = "attached Accessibility Tree & screenshot"
    return "", f"Observation:{said} please analyze the {shown} and give the Thought and Action."
