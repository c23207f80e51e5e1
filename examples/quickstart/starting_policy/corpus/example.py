"""A sample of pre-training: a conversation in the form of `data.conversation`, with its page's screenshot."""

import dataclasses
from collections.abc import Sequence

from PIL import Image

from corpus.pages import Page
from corpus.pictures import render
from corpus.questions import ask
from corpus.words import Words
from data.conversation import StepText, build_conversation


@dataclasses.dataclass(frozen=True)
class Example:
    """`turns` alternate user and assistant text; every assistant text from `first_target` on is learned."""

    turns: list[str]
    first_target: int
    screenshot: Image.Image


def compose(
    words: Words,
    page: Page,
    ques: str,
    replies: Sequence[str],
    thought: str,
    about_the_way: Sequence[str] = (),
    num_questions: int = 0,
) -> Example:
    """The instruction `ques` with `replies`, of which the last is to `page`; earlier ones stand in the history without
    pages. Then questions and answers `about_the_way` and up to `num_questions` others on the page, but none whose
    thought is `thought` or another's before it, which could be copied."""
    steps = [StepText(tree="", reply=reply) for reply in replies[:-1]] + [StepText(page.tree(), reply=replies[-1])]
    turns = [turn.text for turn in build_conversation(ques, steps, last_n=1).turns]
    first_target, thoughts = len(turns) - 1, {thought}
    turns += about_the_way
    for question in (ask(words, page) for _ in range(num_questions)):
        if question.thought not in thoughts:
            thoughts.add(question.thought)
            turns += [question.instruction, question.reply()]
    lines = [(element.role, element.name) for element in page.elements]
    return Example(turns, first_target, render(words.rng, lines, page.drawing))
