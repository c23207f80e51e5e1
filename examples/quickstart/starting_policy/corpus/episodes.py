"""Pages on the way of a task whose thoughts say what is left of it, in a notation of actions of its own."""

import dataclasses
import random

from corpus.example import Example, compose
from corpus.pages import Element, Page, make_page
from corpus.words import ENGLISH, Words

_ASIDES = (" then", " and", " there", " in", " next", " after that", " from it", " with")
_FURTHER = ("Further on", "Show others", "Turn over")
NUM_AIMS, SIGNS_OF_AN_AIM = 64, 3
SHARE_ELSEWHERE = 0.1  # of pages on which nothing that is needed stands, but an entry that leads further
SHARE_LOST = 0.15  # of pages to which a wrong step led


def _make_aims() -> tuple[dict[str, str], list[str]]:
    """(the aim that each sign in an instruction stands for, the words that no sign has)."""
    rng = random.Random(5)
    words = rng.sample(ENGLISH, len(ENGLISH))
    aims = [" ".join(rng.sample(ENGLISH, rng.randint(2, 4))) for _ in range(NUM_AIMS)]
    signs = [" ".join(words.pop() for _ in range(rng.choice((1, 1, 2)))) for _ in range(NUM_AIMS * SIGNS_OF_AN_AIM)]
    return dict(zip(signs, aims * SIGNS_OF_AN_AIM, strict=True)), words


AIM_OF_SIGN, FILLERS = _make_aims()


def _make_items(words: Words, number: int) -> list[str]:
    """Different names of things that are needed; some of many words, some alike."""
    items: list[str] = []
    while len(items) < number:
        name = words.subject(words.name(words.rng.choice((2, 2, 2, 4))))
        if items and words.rng.random() < 0.3:
            name = words.like(words.rng.choice(items))
        if name not in items:
            items.append(name)
    return items


@dataclasses.dataclass(frozen=True)
class Move:
    """What is done on a page for something that is needed."""

    item: str
    reason: str
    action: str
    last: bool = False
    """An answer, for which nothing else may be needed."""


def _click_for(entry: Element, item: str) -> Move:
    return Move(item, f"I should click '{entry.name}'.", f"Open <{entry.label}>")


def _type_for(field: Element, text: str) -> Move:
    return Move(text, f"I should type '{text}' into '{field.name}'.", f"Write <{field.label}>; {text}")


def _say_for(item: str, line: str, value: str) -> Move:
    return Move(item, f"The page says '{line}'.", f"Say; {value}", last=True)


def _options(page: Page) -> list[tuple[Element, Element]]:
    """(combobox, option that can be chosen in it)."""
    found, menu = [], None
    for element in page.elements:
        if element.role == "combobox":
            menu = element
        elif element.role == "option" and menu:
            found.append((menu, element))
    return found


def _move(words: Words, page: Page) -> Move | None:
    """A random move that the page allows; None where it allows none."""
    rng = words.rng
    further = [entry for entry in page.entries if entry.name in _FURTHER]
    if further:
        return _click_for(further[0], words.name())
    kinds = [
        (6, page.entries, lambda entry: _click_for(entry, words.subject(entry.name))),
        (3, page.fields[:1], lambda field: _type_for(field, words.subject(words.name(rng.choice((2, 2, 4)))))),
        (2, _options(page), lambda pair: _type_for(pair[0], pair[1].name)),
        (3, page.facts, lambda fact: _say_for(fact[0], fact[2].name, fact[1])),
        (
            1,
            [entry for entry in page.entries if entry.follower],
            lambda entry: _say_for(entry.name, entry.follower.name, entry.follower.name),
        ),
        (1, page.lists, lambda listed: _say_for(listed[0].name, listed[1].name, listed[1].name)),
    ]
    kinds = [kind for kind in kinds if kind[1]]
    if not kinds:
        return None
    _, targets, make = rng.choices(kinds, weights=[kind[0] for kind in kinds])[0]
    return make(rng.choice(targets))


def make_episode(words: Words, max_elements: int, num_questions: int, share_of_tables: float = 0) -> Example:
    """A page of at most `max_elements` lines on the way of a task, with `num_questions` direct ones.

    An instruction has a sign of its aim and, in double quotes, what is needed in its order. Each thought names the aim,
    says where it is and what is still needed, and takes one step.
    """
    rng = words.rng
    page = make_page(words, rng.randint(4, max_elements), share_of_tables=share_of_tables)
    if page.entries and rng.random() < SHARE_ELSEWHERE:
        rng.choice(page.entries).name = rng.choice(_FURTHER)
    move = _move(words, page)
    items = _make_items(words, rng.randint(2, 5))
    if not move or move.item in items:
        return make_episode(words, max_elements, num_questions, share_of_tables)
    position = len(items) - 1 if move.last else rng.randrange(len(items))
    items[position] = move.item
    sign = rng.choice(list(AIM_OF_SIGN))
    replies, title = _walk(words, AIM_OF_SIGN[sign], items, position)
    page.elements[0].name = title + (f" - {words.name()}" if rng.random() < 0.7 else "")
    title = page.elements[0].name.split(" - ")[0]
    replies.append(_thought(AIM_OF_SIGN[sign], title, items[position:], move.reason, move.action))
    ques = _instruct(rng, sign, items)
    return compose(words, page, ques, replies, move.reason, num_questions=num_questions)


def _walk(words: Words, aim: str, items: list[str], position: int) -> tuple[list[str], str]:
    """(replies that led to where the item at `position` is needed, the title of that page)."""
    rng, title, replies = words.rng, words.name(), []
    for place in range(position + 1):
        lost = place == position  # a step that leads to no new goal
        if lost and rng.random() > SHARE_LOST:
            break
        clicks = rng.random() < 0.7
        if clicks:
            name = words.name() if lost else words.shown(items[place])
            done = f"I should click '{name}'.", f"Open <{rng.randint(2, 40)}>"
        else:
            into = words.name()
            done = f"I should type '{items[place]}' into '{into}'.", f"Write <{rng.randint(2, 40)}>; {items[place]}"
        replies.append(_thought(aim, title, items[place:], *done))
        if clicks and not lost and rng.random() < 0.8:
            title = words.shown(items[place])
        elif clicks or rng.random() < 0.5:
            title = words.name()
    return replies, title


def _instruct(rng: random.Random, sign: str, items: list[str]) -> str:
    """The items in their order, and the sign of an aim somewhere between other words."""
    sign_at, parts = rng.randrange(len(items) + 1), []
    for place, item in enumerate([*items, ""]):
        fillers = rng.sample(FILLERS, rng.randint(0 if place == sign_at or not item else 1, 3))
        if place == sign_at:
            fillers.insert(rng.randint(0, len(fillers)), sign)
        joint = rng.choice((",", "", ";")) + rng.choice(_ASIDES) + " " if 0 < place < len(items) else ""
        parts.append(joint + " ".join([*fillers, f'"{item}"' if item else ""]).strip())
    text = " ".join(part for part in parts if part).replace(" ,", ",").replace(" ;", ";").replace("  ", " ")
    return text + rng.choice((".", ""))


def _thought(aim: str, title: str, needs: list[str], reason: str, action: str) -> str:
    needed = ", ".join(f'"{need}"' for need in needs)
    return f"Thought: My task is to {aim}. I am on '{title}'. I need {needed}. {reason}\n\nAction: {action}"
