"""The elements of a device's screen as text, in the words and the form of the browser's accessibility tree, so that one
policy reads both."""

from collections.abc import Iterable
from typing import Any

from environments.touch.screen import Element

_ROLES = {"text": "StaticText"}


def tree_of(elements: Iterable[Element]) -> tuple[str, dict[int, dict[str, Any]]]:
    """(a line for each element with its number from 1; what a number refers to). What is written in a field stands
    below it, as an element of its own."""
    lines, nodes = [], {}

    def add(depth: int, role: str, name: str, properties: str, element: Element) -> None:
        left, top, right, bottom = element.box
        number = len(nodes) + 1
        nodes[number] = {"union_bound": [left, top, right - left, bottom - top], "role": role, "name": name}
        lines.append("\t" * depth + f"[{number}] {role} {name!r}{properties}")

    for element in elements:
        said = " focused: True" if element.is_focused else ""
        said += f" checked: {str(element.is_checked).lower()}" if element.is_checked is not None else ""
        name = element.name if element.is_editable else element.name or element.text
        add(0, _ROLES.get(element.kind, element.kind), name, said, element)
        if element.is_editable and element.text:
            add(1, "StaticText", element.text, "", element)
    return "\n".join(lines), nodes
