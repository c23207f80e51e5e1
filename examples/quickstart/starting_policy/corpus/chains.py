"""Pages with their place in a chain of instructions: 'open "A", then put "b" into "C", and tell the D'."""

import itertools
import random
import re

from corpus.example import Example, compose
from corpus.pages import make_page
from corpus.questions import ask
from corpus.words import Words

DRAWN = ("figures", "figures", "figures", "catalog", "bars", "light")
MOST_BESIDE_DRAWING = 8  # lines on most pages with one: looking is learned from many short pages


def make_chain(
    words: Words,
    max_elements: int,
    max_links: int,
    num_questions: int,
    share_drawn: float,
    share_of_tables: float = 0,
) -> Example:
    """One page of a chain of 1 to `max_links` links, `num_questions` more, and something drawn on `share_drawn`.

    The links before the page's are done and stand in the history. A thought first repeats the instruction that it
    follows, then names the element.
    """
    rng = words.rng
    drawn = rng.choice(DRAWN) if rng.random() < share_drawn else ""
    most = min(max_elements, MOST_BESIDE_DRAWING) if drawn and rng.random() < 0.8 else max_elements
    page = make_page(words, rng.randint(4, most), drawn, share_of_tables)
    num_links = rng.choice((1, rng.randint(1, max_links), rng.randint(1, max_links)))
    position = rng.randrange(num_links)
    links = [ask(words, page if number == position else make_page(words, 8)) for number in range(num_links)]
    names = _quoted(" ".join(link.instruction for link in links))
    followed = position > 0 and links[position - 1].action.startswith("Click") and rng.random() < 0.8
    title = (_quoted(links[position - 1].thought) or [""])[0] if followed else ""
    if not title and names and rng.random() < 0.5:
        title = rng.choice(names)
    title = title or words.name()
    page.elements[0].name = title + (f" - {words.name()}" if rng.random() < 0.7 else "")
    opening = rng.choice(("", "Please ", "I want you to ", "Your task: "))
    ques = opening + rng.choice((", then ", " and then ", " and ", "; ")).join(link.instruction for link in links)
    replies = [link.reply() for link in links[: position + 1]]
    way = _ask_about_the_way(rng, title, names)
    return compose(words, page, ques, replies, links[position].thought, way, num_questions)


def _quoted(text: str) -> list[str]:
    """The names in double or single quotes, in their order."""
    return [one or other for one, other in re.findall(r'"([^"]+)"|\'([^\']+)\'', text)]


def _ask_about_the_way(rng: random.Random, title: str, names: list[str]) -> list[str]:
    """Questions about where the page stands on the way that the instructions name, with their answers."""
    turns = []
    for name, following in rng.sample(list(itertools.pairwise(names)), min(2, len(names) - 1)) if names else ():
        turns += [f'And after "{name}"?', f'After "{name}" comes "{following}".']
    if names:
        place = names.index(title) + 1 if title in names else 0
        need = f'"{names[place]}"' if place < len(names) else "nothing more"
        turns += ["What comes next?", f"I am on '{title}'. I need {need}."]
    return turns
