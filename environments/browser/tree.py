"""Accessibility tree -> the text OpenWebVoyager's models read: `[3] button 'Search'` a line, ids in visiting order.

Rules, as in OpenWebVoyager's `utils_webarena.py`: a node outside the viewport, without a box, without a name, or that
repeats its nearest printed ancestor's name is left out and its children take its place; at most about 300 lines.

Three differences, the first two because the released code asks each node for its box in a request of its own:
- Parts of a form control that have no box in the DOM snapshot (the text inside a textbox) take the control's box.
- The options of a closed `<select>` do too, so that the agent can see what it can choose. The seeds hid them.
- What an iframe shows stands below it, as far as the iframe's own box shows it. The seeds left it out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from data.observation import Visibility
from environments.browser.layout import Box, Region, overlap

AXNode = dict[str, Any]

MAX_LINES = 300
MAX_OPTIONS = 30  # of one <select>; longer ones are chosen from by typing
VISIBLE_RATIO = 0.8
REPEATING_ROLES = {"StaticText", "heading", "image", "generic"}
HIDDEN_PROPERTIES = {
    "focusable",
    "editable",
    "readonly",
    "level",
    "settable",
    "multiline",
    "invalid",
    "hiddenRoot",
    "hidden",
    "controls",
    "labelledby",
    "describedby",
    "url",  # new in Chromium after the released models were trained
}


@dataclass(frozen=True)
class Document:
    """What one frame shows.

    Args:
        nodes: `Accessibility.getFullAXTree` of the frame, root first.
        region: where they are drawn.
        frame_id: empty for the main frame.
        frames: the frames inside, by the backend node id of their `<iframe>`.
    """

    nodes: list[AXNode]
    region: Region
    frame_id: str = ""
    frames: dict[int, "Document"] = field(default_factory=dict)

    def by_id(self) -> dict[str, AXNode]:
        """The nodes by the ids that name them as children."""
        return {node["nodeId"]: node for node in reversed(self.nodes)}


class _Visit(NamedTuple):
    """A node to be visited: where it lies and what was printed above it."""

    document: Document
    by_id: dict[str, AXNode]
    node: AXNode
    depth: int
    name_above: str
    control_box: Box | None


def build_tree(document: Document, visibility: Visibility) -> tuple[str, dict[int, AXNode]]:
    """Text and labeled nodes, each with its `union_bound`, and its `frameId` where it is not in the main frame.

    Args:
        document: the main frame's.
        visibility: `released` keeps anything that overlaps the viewport by about a pixel, as the released code does by
            a slip of precedence (its models were trained so); `correct` asks for 80 % of the area.
    """
    labeled: dict[int, AXNode] = {}
    lines = []
    for frame_id, node, depth, box in _visit(document, visibility):
        frame = {"frameId": frame_id} if frame_id else {}
        labeled[len(labeled) + 1] = {**node, "union_bound": list(box), **frame}
        lines.append("\t" * depth + f"[{len(labeled)}] {_describe(node)}")
        if len(labeled) > MAX_LINES:
            break
    return "\n".join(lines), labeled


def _visit(main: Document, visibility: Visibility) -> Iterator[tuple[str, AXNode, int, Box]]:
    """Printed nodes in order: frame, node, depth and box."""
    stack = [_Visit(main, main.by_id(), main.nodes[0], 0, "root", None)]
    while stack:
        document, by_id, node, depth, name_above, control_box = stack.pop()
        backend_id = node.get("backendDOMNodeId", 0)
        box = document.region.boxes.get(backend_id) or (control_box if backend_id else None)
        if node is document.nodes[0]:
            box = (0.0, 0.0, 10.0, 10.0) if document is main else document.region.shown
        if box and _is_visible(box, document.region.shown, visibility) and _is_worth_a_line(node, name_above):
            yield document.frame_id, node, depth, box
            depth, name_above = depth + 1, _text(node, "name")
        if backend_id in document.region.controls:
            control_box = box
        if inner := document.frames.get(backend_id):
            stack.append(_Visit(inner, inner.by_id(), inner.nodes[0], depth, name_above, None))
            continue
        children = [by_id[child] for child in node.get("childIds", []) if child in by_id]
        if _text(node, "role") == "MenuListPopup":
            children = _shorten(children)
        stack.extend(_Visit(document, by_id, child, depth, name_above, control_box) for child in reversed(children))


def _is_visible(box: Box, shown: Box, visibility: Visibility) -> bool:
    _, _, box_width, box_height = box
    if box_width == 0 or box_height == 0:
        return False
    _, _, width, height = overlap(box, shown)
    if visibility == "released":
        return width * height / box_width * box_height >= VISIBLE_RATIO
    return width * height / (box_width * box_height) >= VISIBLE_RATIO


def _is_worth_a_line(node: AXNode, name_above: str) -> bool:
    role, name = _text(node, "role"), _text(node, "name").strip()
    return bool(name) and role != "gridcell" and not (name in name_above and role in REPEATING_ROLES)


def _describe(node: AXNode) -> str:
    words = [_text(node, "role"), repr(_text(node, "name"))]
    for entry in node.get("properties", []):
        if entry["name"] not in HIDDEN_PROPERTIES and "value" in entry["value"]:
            words.append(f"{entry['name']}: {entry['value']['value']}")
    return " ".join(words)


def _shorten(options: list[AXNode]) -> list[AXNode]:
    """The first options of a `<select>`, and the chosen one wherever it stands."""
    return options[:MAX_OPTIONS] + [option for option in options[MAX_OPTIONS:] if _is_selected(option)]


def _is_selected(option: AXNode) -> bool:
    return any(entry["name"] == "selected" and entry["value"].get("value") for entry in option.get("properties", []))


def _text(node: AXNode, field: str) -> str:
    return str(node.get(field, {}).get("value", ""))
