"""Elements of a stored page by an attribute that numbers them, in the page's order, as an accessibility tree names
them; no script of the page runs and nothing is loaded."""

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_ROLES = {
    "a": "link",
    "button": "button",
    "textarea": "textbox",
    "select": "combobox",
    "option": "option",
    "img": "img",
}
_INPUTS = dict.fromkeys(("submit", "button", "reset", "image"), "button") | {"checkbox": "checkbox", "radio": "radio"}
_NAMES = ("aria_label", "aria-label", "placeholder", "alt", "title", "text_value", "value", "label", "name")
_LONGEST_NAME, _DEEPEST = 80, 20
_MOST_CHARS = 2_000_000  # of a page


@dataclass
class Element:
    """One of the wanted ones; `depth` counts those around it."""

    node: str
    role: str
    attributes: dict[str, str]
    depth: int
    words: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        said = next((text for key in _NAMES if (text := self.attributes.get(key))), "")
        return " ".join((" ".join(self.words) or said).split())[:_LONGEST_NAME]


def elements_of(page: str, wanted: Collection[str], key: str = "backend_node_id") -> list[Element]:
    """Those whose nodes, by the attribute `key`, are wanted; those that the page does not have come last, unnamed."""
    reader = _Reader(frozenset(wanted), key)
    with contextlib.suppress(AssertionError):  # of some broken declarations; what was read before stays
        reader.feed(page[:_MOST_CHARS])
    found = {element.node for element in reader.found}
    missing = [Element(node, "generic", {}, 0) for node in dict.fromkeys(wanted) if node not in found]
    return reader.found + missing


def tree_of(title: str, elements: Sequence[Element]) -> str:
    """Element k of them has the number k + 2, the page 1."""
    lines = [f"[1] RootWebArea {title!r}"]
    for label, element in enumerate(elements, start=2):
        lines.append("\t" * (1 + min(element.depth, _DEEPEST)) + f"[{label}] {element.role} {element.name!r}")
    return "\n".join(lines)


class _Reader(HTMLParser):
    def __init__(self, wanted: frozenset[str], key: str):
        super().__init__(convert_charrefs=True)
        self._key = key
        self._wanted, self.found = wanted, list[Element]()
        self._open: list[tuple[str, Element | None]] = []
        self._around: list[Element] = []
        self._seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in attrs}
        node = attributes.get(self._key, "")
        element = None
        if node in self._wanted and node not in self._seen:
            self._seen.add(node)
            element = Element(node, _role(tag, attributes), attributes, len(self._around))
            self.found.append(element)
        if tag not in _VOID:
            self._open.append((tag, element))
            self._around += [element] if element else []

    def handle_endtag(self, tag: str) -> None:
        depth = next((back for back, (name, _) in enumerate(reversed(self._open[-200:])) if name == tag), None)
        for _ in range(0 if depth is None else depth + 1):
            _, element = self._open.pop()
            if element:
                self._around.pop()

    def handle_data(self, data: str) -> None:
        is_shown = not self._open or self._open[-1][0] not in ("script", "style")
        words = data.strip()[:_LONGEST_NAME] if is_shown else ""
        for element in self._around[-_DEEPEST:] if words else ():
            if len(element.words) < _LONGEST_NAME // 2:
                element.words.append(words)


def _role(tag: str, attributes: dict[str, str]) -> str:
    said = attributes.get("role") or attributes.get("aria_role", "")
    if re.fullmatch(r"\w+", said):
        return said
    return _INPUTS.get(attributes.get("type", ""), "textbox") if tag == "input" else _ROLES.get(tag, "generic")
