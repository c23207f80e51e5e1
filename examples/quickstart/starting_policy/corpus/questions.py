"""Direct instructions about a page, with the replies that carry them out."""

import dataclasses

from corpus.pages import Element, Page
from corpus.words import Words


@dataclasses.dataclass(frozen=True)
class Question:
    """A direct instruction about a page and the reply that carries it out.

    What an instruction names stands in double quotes, what the page says in single ones, as in its tree.
    """

    instruction: str
    thought: str
    action: str

    def reply(self) -> str:
        return f"Thought: I need to {self.instruction}. {self.thought}\n\nAction: {self.action}"


def ask(words: Words, page: Page) -> Question:
    """A random question that the page can answer."""
    kinds = [(_ask_click, 5, page.entries), (_ask_word, 1, page.entries), (_ask_type, 4, page.fields)]
    kinds += [(_ask_fact, 4, page.facts), (_ask_follower, 2, [entry for entry in page.entries if entry.follower])]
    kinds += [(_ask_first, 1, page.lists)]
    if page.drawing:
        kinds = [(_ask_seen, 1, [page])] if words.rng.random() < 0.8 else kinds
    kinds = [kind for kind in kinds if kind[2]]
    if not kinds:
        return Question("say done", "Everything is done.", "ANSWER; done")
    build, _, targets = words.rng.choices(kinds, weights=[kind[1] for kind in kinds])[0]
    return build(words, words.rng.choice(targets))


def _ask_click(words: Words, entry: Element) -> Question:
    verb = words.rng.choice(("open", "click", "press", "go to", "choose", "follow", "switch to", "get"))
    return Question(f'{verb} "{entry.name}"', *_click(entry))


def _ask_word(words: Words, entry: Element) -> Question:
    """The instruction gives only the last word of the name: the rest is on the page."""
    return Question(f"open the one called {entry.name.split()[-1]}", *_click(entry))


def _ask_first(words: Words, listed: tuple[Element, Element]) -> Question:
    heading, entry = listed
    return Question(f'open the first one below "{heading.name}"', *_click(entry))


def _click(entry: Element) -> tuple[str, str]:
    return f"I should click '{entry.name}'.", f"Click [{entry.label}]"


def _ask_type(words: Words, field: Element) -> Question:
    text = words.value() if words.rng.random() < 0.3 else words.name()
    thought, action = f"I should type '{text}' into '{field.name}'.", f"Type [{field.label}]; {text}"
    if field.role == "searchbox" and words.rng.random() < 0.7:
        instruction = words.rng.choice(('look for "{}"', 'query "{}"', 'seek "{}"')).format(text)
        return Question(instruction, thought, action)
    forms = ('type "{}" into "{}"', 'put "{}" into "{}"', 'set "{1}" to "{0}"', 'fill "{1}" with "{0}"')
    instruction = words.rng.choice(forms).format(text, field.name)
    return Question(instruction, thought, action)


def _ask_fact(words: Words, fact: tuple[str, str, Element]) -> Question:
    what, value, element = fact
    forms = ("tell the {}", "read the {}", "report the {}", 'tell the "{}"', "say what the {} is")
    return Question(words.rng.choice(forms).format(what), f"The page says '{element.name}'.", f"ANSWER; {value}")


def _ask_follower(words: Words, entry: Element) -> Question:
    text = entry.follower.name
    instruction = words.rng.choice(('tell what stands below "{}"', 'read what follows "{}"')).format(entry.name)
    return Question(instruction, f"The page says '{text}'.", f"ANSWER; {text.split(': ', 1)[-1]}")


def _ask_seen(words: Words, page: Page) -> Question:
    """What only the picture answers."""
    rng, drawing = words.rng, page.drawing
    forms: tuple[str, ...]
    if drawing.kind == "light":
        forms, value = ("say if the light shines", "report the state of the light"), "on" if drawing.lit else "off"
    elif page.shown:
        place = rng.randrange(len(page.shown))
        figure = drawing.figures[place]
        return Question(f'open the "{figure.color}" "{figure.shape}"', *_click(page.shown[place]))
    elif drawing.kind == "bars":
        bar = rng.choice(drawing.figures)
        forms, value = ('measure the "{}" bar', 'say how high the "{}" column is'), str(bar.height)
        forms = tuple(form.format(bar.color) for form in forms)
    elif rng.random() < 0.5:
        forms, value = ("say in which color it is painted", "report the color of the figure"), drawing.figures[0].color
    else:
        forms, value = ("say which form it has", "report the outline of the figure"), drawing.figures[0].shape
    return Question(rng.choice(forms), f"The picture shows '{value}'.", f"ANSWER; {value}")
