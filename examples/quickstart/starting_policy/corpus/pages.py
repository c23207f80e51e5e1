"""Synthetic pages: random accessibility trees of made-up words, with pictures on some of them (`pictures.py`)."""

import dataclasses
import random
from collections.abc import Callable

from corpus.pictures import MOST_FIGURES, Drawing, make_drawing
from corpus.words import Words

_ENTRY_ROLES = ("link",) * 6 + ("button",) * 3 + ("tab", "menuitem", "checkbox", "radio")
_FIELD_PROPERTIES = {
    "textbox": (" required: False", " required: True", ""),
    "searchbox": ("", " focused: True"),
    "combobox": (
        " hasPopup: menu expanded: False",
        " hasPopup: menu required: True expanded: False",
        " expanded: False",
    ),
    "tab": ("", " selected: True", " selected: False"),
    "checkbox": (" checked: false", " checked: true"),
    "radio": (" checked: false", " checked: true"),
}


@dataclasses.dataclass
class Element:
    """One tree line; `follower` is the text node printed right after an entry."""

    role: str
    name: str
    properties: str = ""
    depth: int = 1
    label: int = 0
    follower: "Element | None" = None

    def line(self) -> str:
        return "\t" * self.depth + f"[{self.label}] {self.role} {self.name!r}{self.properties}"


@dataclasses.dataclass
class Page:
    """A page and what stands on it by kind; names of operable elements are unique."""

    elements: list[Element]
    entries: list[Element]
    fields: list[Element]
    facts: list[tuple[str, str, Element]]
    lists: list[tuple[Element, Element]]
    drawing: Drawing | None = None
    shown: list[Element] = dataclasses.field(default_factory=list)
    """The entries that stand for the figures of a drawing, in their order."""

    def tree(self) -> str:
        return "\n".join(element.line() for element in self.elements)


def make_page(words: Words, num_elements: int, drawn: str = "", share_of_tables: float = 0) -> Page:
    """A page of about `num_elements` tree lines, with something `drawn` on it: one of `pictures.Drawing`'s kinds, or
    `catalog`, figures of which each has an entry. `share_of_tables`: of its facts those in tables."""
    rng = words.rng
    page = Page([Element("RootWebArea", words.name(4), " focused: True", depth=0)], [], [], [], [])
    used: set[str] = set()

    def fresh(max_words: int = 2) -> str:
        while True:
            name = words.name(max_words)
            if page.entries and rng.random() < 0.3:  # names that share words make reading matter
                name = words.like(rng.choice(page.entries).name)
            if name.lower() not in used:
                used.add(name.lower())
                return name

    place = rng.randint(1, num_elements)
    while len(page.elements) < num_elements or (drawn and not page.drawing):
        if drawn and not page.drawing and len(page.elements) >= place:
            num_figures = _add_catalog(words, page, fresh) if drawn == "catalog" else 1
            page.drawing = make_drawing(rng, "figures" if drawn == "catalog" else drawn, num_figures)
        add_facts = _add_table if share_of_tables and rng.random() < share_of_tables else _add_fact
        rng.choices((_add_entries, _add_field, add_facts, _add_text), weights=(5, 2, 3, 2))[0](words, page, fresh)
    for label, element in enumerate(page.elements, start=1):
        element.label = label
    return page


def _add_catalog(words: Words, page: Page, fresh: Callable[..., str]) -> int:
    """An entry for each figure of a drawing; returns how many."""
    page.elements.append(Element("heading", fresh()))
    page.shown = [Element("link", fresh()) for _ in range(words.rng.randint(2, MOST_FIGURES))]
    page.elements += page.shown
    page.entries += page.shown
    return len(page.shown)


def _properties(rng: random.Random, role: str) -> str:
    return rng.choice(_FIELD_PROPERTIES.get(role, ("",)))


def _add_entries(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    """A few links or buttons, perhaps under a heading, perhaps each followed by a text."""
    rng = words.rng
    role, depth = rng.choice(_ENTRY_ROLES), rng.choice((1, 1, 2))
    followed = rng.random() < 0.35
    heading = Element("heading", fresh(), depth=depth) if rng.random() < 0.4 else None
    if heading:
        page.elements.append(heading)
    for position in range(rng.randint(1, 5)):
        entry = Element(role, fresh(), _properties(rng, role), depth)
        page.elements.append(entry)
        page.entries.append(entry)
        if heading and position == 0:
            page.lists.append((heading, entry))
        if followed:
            text = f"{words.name(1)}: {words.value()}" if rng.random() < 0.3 else words.value()
            entry.follower = Element("StaticText", text, depth=depth)
            page.elements.append(entry.follower)


def _add_field(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    rng = words.rng
    role = rng.choice(("textbox", "textbox", "searchbox", "combobox", "combobox"))
    if role == "searchbox" and any(field.role == "searchbox" for field in page.fields):
        role = "textbox"
    field = Element(role, fresh(), _properties(rng, role), rng.choice((1, 1, 2)))
    page.elements.append(field)
    page.fields.append(field)
    if role == "combobox" and rng.random() < 0.5:
        for _ in range(rng.randint(2, 5)):
            page.elements.append(
                Element("option", words.name(2), rng.choice((" selected: False", "")), field.depth + 1)
            )


def _add_fact(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    for _ in range(words.rng.randint(1, 4)):
        what, value = fresh(2), words.value()
        element = Element("StaticText", f"{what}: {value}", depth=words.rng.choice((1, 1, 2)))
        page.elements.append(element)
        page.facts.append((what, value, element))


def _add_table(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    """What is said of something, as bug trackers have it: names in one column, values in the other."""
    rng = words.rng
    roles = rng.choice((("rowheader", "cell"), ("cell", "cell"), ("term", "definition"), ("LayoutTableCell",) * 2))
    properties, end, links = rng.choice((" required: False", "")), rng.choice((":", ":", "")), rng.random() < 0.4
    for _ in range(rng.randint(2, 8)):
        what, value = fresh(2), rng.choice((words.value, words.word, words.name))()
        page.elements.append(Element(roles[0], what + end, properties if roles[0] == "rowheader" else ""))
        if rng.random() < 0.1:
            continue  # nothing is said
        page.elements.append(Element(roles[1], value))
        if links:
            page.elements.append(Element("link", value, depth=2))
        asked = what.lower() if rng.random() < 0.5 else what
        page.facts.append((asked, value, Element("", f"{what}{end} {value}")))


def _add_text(words: Words, page: Page, fresh: Callable[..., str]) -> None:
    role = words.rng.choice(("heading", "StaticText", "StaticText", "image", "generic"))
    page.elements.append(Element(role, words.name(4), depth=words.rng.choice((1, 2))))
