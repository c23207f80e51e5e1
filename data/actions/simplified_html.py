"""An accessibility tree as the simplified HTML that text-only agents read: an element a line, its label as its id.

WebRL's pages (arXiv 2411.02337, VisualAgentBench) are cut from the DOM; these have the same form and hold what the tree
holds, so that ids are the labels that actions name.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LINE = re.compile(r"""^(\t*)\[(\d{1,9})\] (\w+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(.*)$""")
_PROPERTY = re.compile(r"(\w+): (.*?)(?= \w+: |$)")
_TAGS = {
    **{"RootWebArea": "html", "link": "a", "button": "button", "heading": "h2", "paragraph": "p", "image": "img"},
    **{"list": "ul", "listitem": "li", "table": "table", "row": "tr", "cell": "td", "option": "option"},
    **{"columnheader": "th", "rowheader": "th", "navigation": "nav", "main": "main", "form": "form"},
    **{"LabelText": "label", "MenuListOption": "option", "StaticText": "span"},
}
_INPUTS = {
    **{"textbox": "text", "searchbox": "search", "checkbox": "checkbox", "switch": "checkbox", "radio": "radio"},
    **{"slider": "range", "spinbutton": "number", "combobox": "text", "Date": "date"},
}
_PLAIN = ("RootWebArea", "StaticText", "heading", "paragraph")
"""What nobody acts on has no id."""
_STATES = ("checked", "selected", "disabled", "required")


class _Element(NamedTuple):
    depth: int
    label: int
    role: str
    name: str
    properties: dict[str, str]


def simplified_html(tree: str) -> str:
    """Of the tree's text; lines that are no element, such as a document's, follow as they are, without tags."""
    read = [(_element(line), line) for line in tree.split("\n")]
    rest = [_escape(line) for element, line in read if element is None]
    return "\n".join([*_lines([element for element, _ in read if element]), *rest])


def _element(line: str) -> _Element | None:
    found = _LINE.match(line)
    if found is None:
        return None
    properties = dict(_PROPERTY.findall(found[5]))
    return _Element(len(found[1]), int(found[2]), found[3], str(ast.literal_eval(found[4])), properties)


def _lines(elements: Sequence[_Element]) -> Iterator[str]:
    """Opened, filled and closed in the tree's order; what stands in a field is its value."""
    open_tags: list[tuple[int, str]] = []
    index = 0
    while index < len(elements):
        element = elements[index]
        while open_tags and open_tags[-1][0] >= element.depth:
            yield f"</{open_tags.pop()[1]}>"
        end = _end_of(elements, index)
        inside = elements[index + 1 : end]
        tag, attributes = _tag(element, inside)
        begin = " ".join([f"<{tag}", *attributes]) + ">"
        text = _escape(element.name) if tag not in ("input", "select", "img", "html") else ""
        if tag == "input" or not inside:
            yield " ".join(filter(None, [begin, text, f"</{tag}>"]))
            index = end
            continue
        yield f"{begin} {text}".rstrip()
        open_tags.append((element.depth, tag))
        index += 1
    while open_tags:
        yield f"</{open_tags.pop()[1]}>"


def _end_of(elements: Sequence[_Element], index: int) -> int:
    """Behind the last element inside the one at `index`."""
    depth = elements[index].depth
    return next((n for n in range(index + 1, len(elements)) if elements[n].depth <= depth), len(elements))


def _tag(element: _Element, inside: Sequence[_Element]) -> tuple[str, list[str]]:
    """Its name and attributes."""
    role, properties = element.role, element.properties
    is_menu = role in ("combobox", "listbox") and any(_TAGS.get(one.role) == "option" for one in inside)
    tag = "select" if is_menu else "input" if role in _INPUTS else _TAGS.get(role, "div")
    written = {} if role in _PLAIN else {"id": str(element.label)}
    if tag == "input":
        value = " ".join(one.name for one in inside) or properties.get("valuetext", "")
        written |= {"type": _INPUTS[role], "title": element.name, **({"value": value} if value else {})}
    elif tag in ("select", "img", "html"):
        written["title"] = element.name
    elif tag == "div":
        written["role"] = role
    if "expanded" in properties:
        written["aria-expanded"] = properties["expanded"].lower()
    states = [name for name in _STATES if properties.get(name, "").lower() in ("true", "mixed")]
    return tag, [*(f'{name}="{_escape(value)}"' for name, value in written.items()), *states]


def _escape(text: str) -> str:
    """A page's text cannot open or close an element, nor an attribute."""
    return text.replace("<", "&lt;").replace('"', "&quot;")
